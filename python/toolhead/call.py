"""The straight line of one call: input, request context, resume data, body, suspension, output.

Source: spec/api.md section 2; the order is section 3 of the behaviour document. A plain call takes the native steps
of `ToolCall` alone and comes here only when a value is refused or the body suspends; a call that asks for more (a
context, a thread, a timeout, a span) takes the same native steps from here.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from toolhead import supervise
from toolhead._core import Issue, ToolExecutionContext, Validator
from toolhead.context import prepared_context
from toolhead.errors import (
    DecodeError,
    ToolheadError,
    ToolNotExecutableError,
    ToolSuspended,
    ValidationError,
    validation_message,
)
from toolhead.observe import is_configured, tool_span
from toolhead.request_context import CURRENT_REQUEST_CONTEXT, ValidatedRequestContext, foreign_keys
from toolhead.schema_sources import Refused, to_json_data
from toolhead.suspend import Suspension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from toolhead.errors import ValidationPhase
    from toolhead.request_context import RequestContext
    from toolhead.schema_sources import CompiledSchema
    from toolhead.tool import Tool

__all__ = ["Accepted", "check_input", "entered", "execute", "execute_sync", "observed_run", "run", "suspended"]

_logger = logging.getLogger("toolhead")
_R = TypeVar("_R")
# Reads argument text where there is no input schema, and text that the schema refused.
ANY_JSON = Validator(True)


class Accepted(NamedTuple):
    """A value that satisfies its schema, and the repairs that made it do so."""

    value: Any
    repairs: tuple[str, ...] = ()


# -------------------------------------------------------------------------------------------- whole calls


async def execute(tool: Tool[Any, Any], value: object, context: object, is_text: bool, raises: bool) -> Any:
    """`Tool.execute` of a call that is more than plain."""
    prepared = prepared_context(context)
    if not is_configured():
        return _outcome(await _execute(tool, value, prepared, is_text), raises)
    with tool_span(tool.id, tool.description, prepared.tool_call_id):
        return _outcome(await _execute(tool, value, prepared, is_text), raises)


async def _execute(tool: Tool[Any, Any], value: object, context: ToolExecutionContext, is_text: bool) -> Any:
    try:
        checked = check_input(tool, value, is_text=is_text)
        if isinstance(checked, ValidationError):
            return checked
        return await run(tool, checked.value, with_repairs(context, checked.repairs))
    except Suspension as suspension:
        return _direct_suspension(tool, suspension)


def execute_sync(tool: Tool[Any, Any], value: object, context: object, is_text: bool, raises: bool) -> Any:
    """`Tool.execute_sync` of a call that is more than plain."""
    if tool._is_async:
        if _has_running_loop():
            raise RuntimeError(
                f"the tool '{tool.id}' has an asynchronous body and an event loop is running: await tool.execute(...)"
            )
        return asyncio.run(execute(tool, value, context, is_text, raises))
    prepared = prepared_context(context)
    if not is_configured():
        return _outcome(_execute_sync(tool, value, prepared, is_text), raises)
    with tool_span(tool.id, tool.description, prepared.tool_call_id):
        return _outcome(_execute_sync(tool, value, prepared, is_text), raises)


def _execute_sync(tool: Tool[Any, Any], value: object, context: ToolExecutionContext, is_text: bool) -> Any:
    try:
        checked = check_input(tool, value, is_text=is_text)
        if isinstance(checked, ValidationError):
            return checked
        inside = entered(tool, with_repairs(context, checked.repairs))
        if isinstance(inside, ValidationError):
            return inside
        output = _carrying(inside, supervise.body_now, tool, checked.value, inside)
        if not inspect.isawaitable(output):
            return _settled(tool._accept_output(output))
    except Suspension as suspension:
        _judge(tool, suspension)
        caller_suspend = context._caller_suspend
        if caller_suspend is not None:
            answer = caller_suspend(suspension.payload, **suspension.options)
            if inspect.isawaitable(answer):
                raise RuntimeError("the suspend of this context is asynchronous: await tool.execute(...)") from None
        return _direct_suspension(tool, suspension)
    if inspect.iscoroutine(output):
        output.close()
    raise RuntimeError(f"the body of the tool '{tool.id}' returned an awaitable: await tool.execute(...)")


async def run(
    tool: Tool[Any, Any],
    value: object,
    context: ToolExecutionContext,
    *,
    left_behind: Callable[[asyncio.Future[Any]], object] | None = None,
) -> Any:
    """The call after its input was accepted: every way of calling goes through here.

    Args:
        tool: the tool.
        value: its validated input.
        context: the prepared context.
        left_behind: told of a body that still runs when the call is over (a thread cannot be stopped).

    Returns:
        The validated output or a `ValidationError`.

    Raises:
        Suspension: the body suspended; its `error` is the `ValidationError` of an invalid payload. The caller's own
            `suspend` has been called.
        ToolTimeoutError, ToolAbortedError: as they say.
    """
    if not tool.can_execute:
        raise not_executable(tool.id)
    inside = entered(tool, context)
    if isinstance(inside, ValidationError):
        return inside
    token = CURRENT_REQUEST_CONTEXT.set(inside.request_context)
    try:
        output = await supervise.body(tool, value, inside, left_behind)
    except Suspension as suspension:
        _judge(tool, suspension)
        caller_suspend = context._caller_suspend
        if caller_suspend is not None:
            answer = caller_suspend(suspension.payload, **suspension.options)
            if inspect.isawaitable(answer):
                await answer
        raise
    finally:
        CURRENT_REQUEST_CONTEXT.reset(token)
    return _settled(tool._accept_output(output))


async def observed_run(
    tool: Tool[Any, Any],
    value: object,
    context: ToolExecutionContext,
    *,
    left_behind: Callable[[asyncio.Future[Any]], object] | None = None,
) -> Any:
    """`run`, in the span of the call where there are spans."""
    if not is_configured():
        return await run(tool, value, context, left_behind=left_behind)
    with tool_span(tool.id, tool.description, context.tool_call_id):
        return await run(tool, value, context, left_behind=left_behind)


# ------------------------------------------------------------------------------------------------- steps


def check_input(tool: Tool[Any, Any], value: object, *, is_text: bool = False) -> Accepted | ValidationError:
    """The validated input, from data or from argument text, repaired if need be."""
    checked = tool._accept_input(value, is_text)
    return checked if isinstance(checked, ValidationError) else Accepted(*checked)


def with_repairs(context: ToolExecutionContext, repairs: tuple[str, ...]) -> ToolExecutionContext:
    """`context`, or a copy that tells the body of the repairs made."""
    return changed_context(context, repairs=repairs) if repairs else context


def changed_context(context: ToolExecutionContext, **members: Any) -> ToolExecutionContext:
    """A copy of `context` with other members."""
    return ToolExecutionContext(**{**context._members(), **members})


def refuse_input(tool: Tool[Any, Any], value: object, is_text: bool) -> Accepted | ValidationError:
    """What becomes of an input that the validator did not accept: the cold half of the native step."""
    schema = tool._schemas.get("input_schema")
    if is_text:
        return _refuse_text(tool, schema, value)
    if schema is None or schema.is_instance(value):
        return Accepted(value)
    return _checked(tool, schema, "input", value, shown=value, repairs=tool.repair_input)


def _refuse_text(tool: Tool[Any, Any], schema: CompiledSchema | None, text: Any) -> Accepted | ValidationError:
    validator = ANY_JSON if schema is None else schema.validator
    value: Any = text
    try:
        value = validator.decode(text)
        return Accepted(value if schema is None else schema.built(value))
    except DecodeError as error:
        if schema is not None and _is_blank(text):
            return _checked(tool, schema, "input", None, shown=None, repairs=tool.repair_input)
        return _undecodable(tool, text, error)
    except ValidationError as error:
        if schema is not None and _is_null(text):
            return _checked(tool, schema, "input", None, shown=None, repairs=tool.repair_input)
        issues, value = error.issues, error.value
    except Refused as refused:
        issues = refused.issues
    if schema is None or not tool.repair_input:
        return _failure(tool, "input", issues, value)
    repaired = validator.repair_json(text)
    return _built(schema, repaired) or _failure(tool, "input", _with_texts_read(validator, value, issues), value)


def refuse_output(tool: Tool[Any, Any], output: object) -> Accepted | ValidationError:
    """What becomes of an output that the validator did not accept: an instance is turned to data and checked."""
    if isinstance(output, ValidationError):
        return output
    schema = tool._schemas["output_schema"]
    failures = []
    for data in schema.data_of(output):
        try:
            validated = schema.validator.validate(data)
            return Accepted(output if schema.is_instance(output) else schema.built(validated))
        except (ValidationError, Refused) as error:
            failures.append(_failure(tool, "output", error.issues, output, shown=data))
    return failures[0]


def check_data(tool: Tool[Any, Any], option: str, phase: ValidationPhase, value: object) -> Any:
    """The validated value of one of the tool's other schemas; the value itself where there is no such schema.

    Raises:
        ValidationError: the schema refuses the value.
    """
    schema = tool._schemas.get(option)
    if schema is None:
        return value
    if schema.is_instance(value):
        return value
    checked = _checked(tool, schema, phase, value, shown=value, repairs=phase == "resume" and tool.repair_input)
    if isinstance(checked, ValidationError):
        raise checked
    return checked.value


def suspended(tool: Tool[Any, Any], suspension: Suspension) -> ValidationError:
    """The end of a plain call that suspended: raises `ToolSuspended`, or returns the payload's `ValidationError`."""
    _judge(tool, suspension)
    return _direct_suspension(tool, suspension)


def not_executable(tool_id: str) -> ToolNotExecutableError:
    """The error of a tool without a body."""
    return ToolNotExecutableError(
        f"The tool '{tool_id}' has no execute: it is a definition for somebody else to execute", tool_id=tool_id
    )


def entered(tool: Tool[Any, Any], context: ToolExecutionContext) -> ToolExecutionContext | ValidationError:
    """The context that the body sees: request context and resume data checked, in this order."""
    members: dict[str, Any] = {}
    schema = tool._schemas.get("request_context_schema")
    try:
        if schema is not None:
            source = context.request_context
            values = _checked_request_context(tool, schema, source)
            members["request_context"] = ValidatedRequestContext(source, values, schema.validator, tool.id)
        if context.resume_data is not None:
            members["resume_data"] = check_data(tool, "resume_schema", "resume", context.resume_data)
    except ValidationError as error:
        return error
    if not members:
        return context
    # The namespaces show the same objects.
    return prepared_context(changed_context(context, **members))


# ---------------------------------------------------------------------------------------------- internals


def _checked_request_context(tool: Tool[Any, Any], schema: CompiledSchema, source: RequestContext) -> Any:
    """The validated values of a request context; what is no data and not declared is left out."""
    given = source.all
    option: Any = "request_context_schema"
    phase: Any = "request_context"
    try:
        return check_data(tool, option, phase, given)
    except ValidationError:
        foreign = foreign_keys(given, schema.json_schema)
        if not foreign:
            raise
    values = check_data(tool, option, phase, {**given, **dict.fromkeys(foreign)})
    return {key: values[key] for key in values if key not in foreign}


def _checked(
    tool: Tool[Any, Any],
    schema: CompiledSchema,
    phase: ValidationPhase,
    data: object,
    *,
    shown: object,
    repairs: bool,
) -> Accepted | ValidationError:
    try:
        return Accepted(schema.built(schema.validator.validate(data)))
    except (ValidationError, Refused) as error:
        issues: Iterable[Issue] = error.issues
    if repairs and data is None:
        empty = schema.empty_root
        if empty is None:
            return _failure(tool, phase, issues, shown)
        # An empty input counts as an empty object or array: what it lacks is what is reported.
        issues = schema.validator.issues(empty) or issues
    if not repairs:
        return _failure(tool, phase, issues, shown)
    accepted = _built(schema, schema.validator.repair(data))
    return accepted or _failure(tool, phase, _with_texts_read(schema.validator, data, issues), shown)


_TEXTS_READ = 10  # how many JSON texts are looked into for what is wrong in them


def _with_texts_read(validator: Validator, data: Any, issues: Iterable[Issue]) -> tuple[Issue, ...]:
    """The issues; those about JSON text in place of an object or array tell what is wrong in it, too."""
    issues = tuple(issues)
    read = data
    texts: set[tuple[str | int, ...]] = set()
    for issue in issues:
        text = issue.value
        if issue.keyword == "type" and isinstance(text, str) and text.lstrip()[:1] in ("[", "{"):
            with contextlib.suppress(ToolheadError):
                read = _replaced(read, issue.path, ANY_JSON.decode(text))
                texts.add(issue.path)
            if len(texts) == _TEXTS_READ:
                break
    found = validator.issues(read) if texts else []
    return tuple(_with_inner(issue, found) if issue.path in texts else issue for issue in issues)


def _with_inner(issue: Issue, found: Iterable[Issue]) -> Issue:
    depth = len(issue.path)
    inner = tuple(other for other in found if other.path[:depth] == issue.path)
    if not inner:
        return issue
    where = ".".join(map(str, inner[0].path[depth:])) or "root"
    return Issue(
        issue.path,
        message=f"{issue.message}; in its JSON text at {where}: {inner[0].message}",
        keyword=issue.keyword,
        expected=issue.expected,
        params=issue.params,
        schema_path=issue.schema_path,
        value=issue.value,
        causes=(inner,),
    )


def _replaced(data: Any, path: tuple[str | int, ...], value: object) -> Any:
    """`data` with `value` at `path`; the containers on the way are copies."""
    if not path:
        return value
    copied: Any = dict(data) if isinstance(data, dict) else list(data)
    copied[path[0]] = _replaced(copied[path[0]], path[1:], value)
    return copied


def _built(schema: CompiledSchema, repaired: tuple[Any, tuple[str, ...]] | None) -> Accepted | None:
    if repaired is None:
        return None
    value, repairs = repaired
    try:
        return Accepted(schema.built(value), repairs)
    except Refused:
        return None  # what is reported is the first attempt


def _failure(
    tool: Tool[Any, Any], phase: ValidationPhase, issues: Iterable[Issue], value: object, *, shown: object = None
) -> ValidationError:
    issues = tuple(issues)
    message = validation_message(
        issues,
        phase=phase,
        tool_id=tool.id,
        value=to_json_data(value) if shown is None else shown,
        show_data=tool.show_data,
        redact=tool.redact,
    )
    return ValidationError(issues, phase=phase, tool_id=tool.id, value=value, message=message)


def _undecodable(tool: Tool[Any, Any], text: object, error: DecodeError) -> ValidationError:
    if isinstance(text, (bytes, bytearray, memoryview)):
        text = bytes(text).decode("utf-8", "replace")
    issue = Refused.one((), f"The arguments are not JSON: {error.message}", keyword="json").issues
    failure = _failure(tool, "input", issue, text)
    failure.__cause__ = error
    return failure


def _judge(tool: Tool[Any, Any], suspension: Suspension) -> None:
    """Checks the payload of a suspension, which stands whatever comes out."""
    try:
        check_data(tool, "suspend_schema", "suspend", suspension.payload)
    except ValidationError as error:
        suspension.error = error
        _logger.warning("the tool '%s' suspended with a payload that its suspend_schema refuses", tool.id)


def _direct_suspension(tool: Tool[Any, Any], suspension: Suspension) -> ValidationError:
    if suspension.error is not None:
        return suspension.error
    raise ToolSuspended(suspension.payload, tool_id=tool.id, options=suspension.options) from None


@contextlib.contextmanager
def told_directly(tool: Tool[Any, Any]) -> Iterator[None]:
    """Where no call is there to wait: a schema's own check that suspends raises `ToolSuspended`."""
    try:
        yield
    except Suspension as suspension:
        raise ToolSuspended(suspension.payload, tool_id=tool.id, options=suspension.options) from None


def _settled(checked: tuple[Any, ...] | ValidationError) -> Any:
    return checked if isinstance(checked, ValidationError) else checked[0]


def _outcome(outcome: Any, raises: bool) -> Any:
    if raises and isinstance(outcome, ValidationError):
        raise outcome
    return outcome


def _carrying(context: ToolExecutionContext, body: Callable[..., _R], *args: Any) -> _R:
    token = CURRENT_REQUEST_CONTEXT.set(context.request_context)
    try:
        return body(*args)
    finally:
        CURRENT_REQUEST_CONTEXT.reset(token)


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_blank(text: object) -> bool:
    return isinstance(text, (str, bytes, bytearray)) and not text.strip()


def _is_null(text: object) -> bool:
    return isinstance(text, (str, bytes, bytearray)) and text.strip() in ("null", b"null")
