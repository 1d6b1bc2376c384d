"""The options of `create_tool`: their defaults, their types, and every refusal.

Source: spec/api.md section 1. Each check names its option and what was expected, and runs when the tool is made.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

if TYPE_CHECKING:
    from toolhead.transforms import ToolPayloadTransform

__all__ = [
    "DEFAULTS",
    "HOOKS",
    "SCHEMAS",
    "MCPToolProperties",
    "ToolAnnotations",
    "ToolBackgroundConfig",
    "body_shape",
    "checked_background",
    "checked_options",
    "is_async_callable",
]

_S = TypeVar("_S")


class ToolAnnotations(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviour hints of MCP. None is not sent."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class MCPToolProperties(msgspec.Struct, frozen=True, kw_only=True):
    """What only MCP clients are told of a tool. `meta` (`_meta` in a mapping) is sent untouched."""

    annotations: ToolAnnotations | None = None
    meta: Mapping[str, Any] | None = None


class ToolBackgroundConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Whether and how a call may run in the background. All times in seconds; None takes the manager's value.

    Attributes:
        enabled: whether calls may.
        default_disposition: what a call does that does not ask for something else. `deferred`: the model goes on with
            a placeholder; `awaited`: it waits for the result; `foreground`: the call is an ordinary one.
        timeout: how long a task may run, its retries and the waits between them included; then it is `timed_out`.
        max_retries: how many further attempts a failure may cost.
        retry_delay: the wait before the first retry.
        backoff: how many times as long each further wait is.
        retry_on: `(error) -> bool`: whether a failure is worth a retry. None: every exception of the body is.
        wait_timeout: how long an awaited call is waited for; then it is deferred.
        on_complete: `(task) -> None`, sync or async: told of a task that completed.
        on_failed: the same for one that failed or timed out.
    """

    enabled: bool = False
    default_disposition: Literal["deferred", "awaited", "foreground"] = "deferred"
    timeout: float | None = None
    max_retries: int | None = None
    retry_delay: float | None = None
    backoff: float | None = None
    retry_on: Callable[[BaseException], bool] | None = None
    wait_timeout: float | None = None
    on_complete: Callable[[Any], Any] | None = None
    on_failed: Callable[[Any], Any] | None = None


HOOKS = ("on_input_start", "on_input_delta", "on_input_available", "on_output", "on_error", "on_suspend")
SCHEMAS = ("input_schema", "output_schema", "suspend_schema", "resume_schema", "request_context_schema")
DEFAULTS: dict[str, Any] = {
    "title": None,
    **dict.fromkeys(SCHEMAS),
    "execute": None,
    "strict": None,
    "require_approval": False,
    "to_model_output": None,
    "transform": None,
    "mcp": None,
    "provider_options": None,
    "input_examples": None,
    "background": None,
    **dict.fromkeys(HOOKS),
    "repair_input": True,
    "run_sync_in": "thread",
    "timeout": None,
    "grace": 1.0,
    "dialect": None,
    "registry": None,
    "formats": True,
    "limits": None,
    "redact": (),
    "show_data": True,
}
_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_FLAGS = ("repair_input", "show_data", "formats")


def checked_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a tool, complete, typed and checked, but for the schemas.

    Raises:
        TypeError: an unknown option, or a value of the wrong type or arity.
        ValueError: a value that is not allowed.
    """
    _known(given)
    options = {**DEFAULTS, **given}
    _check_names(options)
    for option in _FLAGS:
        _expect(option, options[option], bool)
    _expect("strict", options["strict"], bool, none=True)
    if options["run_sync_in"] not in ("thread", "inline"):
        raise ValueError(f"run_sync_in: expected 'thread' or 'inline', got {options['run_sync_in']!r}")
    _check_seconds("timeout", options["timeout"], none=True, zero=False)
    _check_seconds("grace", options["grace"], none=False, zero=True)
    _check_callables(options)
    options["transform"] = _transform(options["transform"])
    options["mcp"] = _mcp(options["mcp"])
    options["background"] = _background(options["background"])
    provider_options = options["provider_options"]
    if provider_options is not None and not (
        isinstance(provider_options, Mapping) and all(isinstance(name, str) for name in provider_options)
    ):
        raise TypeError("provider_options: expected a mapping by provider name")
    examples = options["input_examples"]
    if examples is not None:
        if isinstance(examples, (str, bytes, Mapping)) or not isinstance(examples, Sequence):
            raise TypeError(f"input_examples: expected a list of inputs, got {type(examples).__name__}")
        options["input_examples"] = tuple(examples)
    redact = options["redact"]
    if isinstance(redact, str) or not all(isinstance(name, str) for name in redact):
        raise TypeError("redact: expected a sequence of key names")
    options["redact"] = tuple(redact)
    return options


# -------------------------------------------------------------------------------------------- names


def _known(given: Mapping[str, Any]) -> None:
    for option in given:
        if option in DEFAULTS or option in ("id", "description"):
            continue
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in option)
        if option in ("runtime_context", "runtimeContext"):
            hint = "; it is called request_context now"
        elif snake != option and (snake in DEFAULTS or snake in ("id", "description")):
            hint = f"; it is called {snake} here"
        else:
            hint = ""
        raise TypeError(f"{option}: no such option{hint}")


def _check_names(options: Mapping[str, Any]) -> None:
    for option in ("id", "description"):
        if option not in options:
            raise TypeError(f"{option}: is required")
        _expect(option, options[option], str)
    if not (1 <= len(options["id"]) <= 128 and _ID.issuperset(options["id"])):
        raise ValueError(f"id: expected 1 to 128 of A-Z a-z 0-9 _ . -, got {options['id']!r}")
    if not options["description"].strip():
        raise ValueError("description: expected a text, got an empty one")
    _expect("title", options["title"], str, none=True)


def _expect(option: str, value: object, kind: type, *, none: bool = False) -> None:
    if not isinstance(value, kind) and not (none and value is None):
        raise TypeError(f"{option}: expected {kind.__name__}{' or None' if none else ''}, got {type(value).__name__}")


def _check_seconds(option: str, value: object, *, none: bool, zero: bool) -> None:
    if none and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{option}: expected seconds, got {type(value).__name__}")
    if not (value >= 0 if zero else value > 0):
        raise ValueError(f"{option}: expected {'0 or more' if zero else 'more than 0'} seconds, got {value!r}")


# -------------------------------------------------------------------------------------------- callables


def _check_callables(options: Mapping[str, Any]) -> None:
    if options["execute"] is not None:
        body_shape(options["execute"])
    approval = options["require_approval"]
    if not isinstance(approval, bool):
        _check_callable("require_approval", approval, 2, "a bool or (input, context) -> bool")
    if options["to_model_output"] is not None:
        _check_callable("to_model_output", options["to_model_output"], 1, "(output) -> ModelOutput")
    for hook in HOOKS:
        if options[hook] is not None:
            _check_callable(hook, options[hook], 1, "(event) -> None")


def body_shape(execute: Any) -> bool:
    """Checks the body, and returns whether it takes the context.

    Raises:
        TypeError: not callable, a wrong number of parameters, a generator, or a form from before version 1.
    """
    positional_count = _plain_arity(execute)
    if positional_count is not None:
        return positional_count >= 2
    expected = "(input, context) or (input), async or sync"
    if not callable(execute) or isinstance(execute, type):
        raise TypeError(f"execute: expected {expected}, got {type(execute).__name__}")
    if inspect.isasyncgenfunction(execute) or (inspect.isgeneratorfunction(execute) and not is_async_callable(execute)):
        raise TypeError(f"execute: expected {expected}, got a generator function; return the output instead")
    try:
        signature = inspect.signature(execute)
    except (TypeError, ValueError):
        return False  # a built-in without a signature takes the input
    parameters = list(signature.parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(parameter.name in ("runtime_context", "runtimeContext") for parameter in parameters):
        raise TypeError("execute: runtime_context is not a parameter of a body; read context.request_context")
    required = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if not positional and not takes_any and (required or any(p.kind is p.KEYWORD_ONLY for p in parameters)):
        raise TypeError(f"execute: expected {expected}, got keyword-only parameters (the form before version 1)")
    if required:
        raise TypeError(f"execute: expected {expected}, got the required keyword-only parameter {required[0]!r}")
    if len(positional) == 1 and positional[0].name == "context" and not takes_any:
        raise TypeError(f"execute: expected {expected}, got only a context (the form before version 1)")
    needed = [p for p in positional if p.default is p.empty]
    if len(needed) > 2 or (not positional and not takes_any):
        raise TypeError(f"execute: expected {expected}, got {len(needed)} required parameters")
    return len(positional) >= 2 or takes_any


_NOT_PLAIN = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE


def _plain_arity(execute: Any) -> int | None:
    """The number of parameters of a plain function that is a body beyond doubt; None for all that has to be asked.

    `inspect.signature` would be most of what making a tool costs.
    """
    if type(execute) is not FunctionType or execute.__dict__:
        return None
    code = execute.__code__
    count = code.co_argcount
    names = code.co_varnames[:count]
    if code.co_flags & _NOT_PLAIN or code.co_kwonlyargcount or not count or names == ("context",):
        return None
    if count - len(execute.__defaults__ or ()) > 2 or "runtime_context" in names or "runtimeContext" in names:
        return None
    return count


def is_async_callable(function: Any) -> bool:
    """Whether calling `function` gives an awaitable: a coroutine function, also behind partial or `__call__`."""
    if type(function) is FunctionType and not function.__dict__:
        return bool(function.__code__.co_flags & _ASYNC)
    while isinstance(function, functools.partial):
        function = function.func
    is_async: bool | None = getattr(function, "is_async", None)  # a body that knows, as that of `@tool`
    if inspect.iscoroutinefunction(function) or is_async is True:
        return True
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is not None and code.co_flags & inspect.CO_ITERABLE_COROUTINE:
        return True
    call = getattr(type(function), "__call__", None)  # noqa: B004  the method itself is asked, not whether there is one
    return not inspect.isroutine(function) and inspect.iscoroutinefunction(call)


def _check_callable(option: str, function: Any, arity: int, expected: str) -> None:
    if not callable(function):
        raise TypeError(f"{option}: expected {expected}, got {type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * arity)
    except TypeError:
        raise TypeError(
            f"{option}: expected {expected}, got a callable that does not take {arity} argument(s)"
        ) from None


# -------------------------------------------------------------------------------------- typed mappings


_NO_NAMES: Mapping[str, str] = {}


def _struct(option: str, kind: type[_S], given: Any, names: Mapping[str, str] = _NO_NAMES) -> _S:
    """An instance of `kind` from a mapping. `names` are other spellings of its fields."""
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"{option}: expected {kind.__name__} or a mapping, got {type(given).__name__}")
    fields = kind.__struct_fields__  # type: ignore[attr-defined]
    values: dict[str, Any] = {names.get(key, key): value for key, value in given.items()}
    unknown = [key for key in values if key not in fields]
    if unknown:
        raise TypeError(f"{option}: unknown key {unknown[0]!r}; expected one of {', '.join(fields)}")
    return kind(**values)


def _transform(given: Any) -> ToolPayloadTransform | None:
    if given is None:
        return None
    from toolhead.transforms import TargetTransform, ToolPayloadTransform

    transform = _struct("transform", ToolPayloadTransform, given)
    targets: dict[str, TargetTransform | None] = {}
    for target in ("display", "transcript"):
        value = getattr(transform, target)
        if value is None:
            targets[target] = None
            continue
        option = f"transform.{target}"
        callbacks = _struct(option, TargetTransform, value)
        for phase in callbacks.__struct_fields__:
            if getattr(callbacks, phase) is not None:
                _check_callable(f"{option}.{phase}", getattr(callbacks, phase), 1, "(event) -> payload")
        targets[target] = callbacks
    return ToolPayloadTransform(**targets)


_HINTS = {
    "readOnlyHint": "read_only_hint",
    "destructiveHint": "destructive_hint",
    "idempotentHint": "idempotent_hint",
    "openWorldHint": "open_world_hint",
}


def _mcp(given: Any) -> MCPToolProperties | None:
    if given is None:
        return None
    mcp = _struct("mcp", MCPToolProperties, given, {"_meta": "meta"})
    if mcp.meta is not None and not isinstance(mcp.meta, Mapping):
        raise TypeError(f"mcp._meta: expected a mapping, got {type(mcp.meta).__name__}")
    annotations: Any = mcp.annotations
    if annotations is not None:
        annotations = _struct("mcp.annotations", ToolAnnotations, annotations, _HINTS)
        _expect("mcp.annotations.title", annotations.title, str, none=True)
        for hint in _HINTS.values():
            _expect(f"mcp.annotations.{hint}", getattr(annotations, hint), bool, none=True)
    return MCPToolProperties(annotations=annotations, meta=mcp.meta)


def _background(given: Any) -> ToolBackgroundConfig | None:
    return None if given is None else checked_background("background", given)


def checked_background(option: str, given: Any) -> ToolBackgroundConfig:
    """The configuration in `option`, complete, typed and checked. Raises as `checked_options`."""
    background: ToolBackgroundConfig = _struct(option, ToolBackgroundConfig, given)
    _expect(f"{option}.enabled", background.enabled, bool)
    dispositions = ("deferred", "awaited", "foreground")
    if background.default_disposition not in dispositions:
        raise ValueError(
            f"{option}.default_disposition: expected one of {', '.join(dispositions)}, "
            f"got {background.default_disposition!r}"
        )
    for name in ("timeout", "wait_timeout", "retry_delay", "backoff"):
        zero = name in ("retry_delay", "backoff")
        _check_seconds(f"{option}.{name}", getattr(background, name), none=True, zero=zero)
    retries = background.max_retries
    if retries is not None and (isinstance(retries, bool) or not isinstance(retries, int) or retries < 0):
        raise ValueError(f"{option}.max_retries: expected a number of 0 or more, got {retries!r}")
    for name, expected in (
        ("retry_on", "(error) -> bool"),
        ("on_complete", "(task) -> None"),
        ("on_failed", "(task) -> None"),
    ):
        if getattr(background, name) is not None:
            _check_callable(f"{option}.{name}", getattr(background, name), 1, expected)
    return background
