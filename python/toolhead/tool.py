"""`Tool`, and `create_tool`, which makes one.

Source: spec/api.md section 1. A tool is immutable; everything that a call will need is checked and compiled when it
is made. The `execute` family is native (`ToolBase`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, overload

from toolhead._core import InputStream, ToolBase, with_direct_calls
from toolhead.call import ANY_JSON, Accepted, check_data, check_input
from toolhead.errors import ValidationError
from toolhead.schema_sources import CompiledSchema, compile_schema
from toolhead.tool_options import DEFAULTS, SCHEMAS, body_shape, checked_options, is_async_callable

if TYPE_CHECKING:
    from typing import Unpack

    from toolhead._core import Limits, ToolExecutionContext
    from toolhead.hooks import (
        ErrorEvent,
        Hook,
        InputAvailableEvent,
        InputDeltaEvent,
        InputStartEvent,
        OutputEvent,
        SuspendEvent,
    )
    from toolhead.tool_options import MCPToolProperties, ToolBackgroundConfig
    from toolhead.transforms import ToolPayloadTransform

__all__ = ["Tool", "create_tool"]

In = TypeVar("In")
Out = TypeVar("Out")

_VALIDATOR_OPTIONS = ("dialect", "registry", "formats", "limits")
_NO_OPTIONS: dict[str, Any] = {}  # shared by the tools without any of them


@with_direct_calls
class Tool(ToolBase, Generic[In, Out]):
    """A tool: what it is called, what it takes and gives, and what it does. Immutable, safe between threads.

    Made by `create_tool` or `@tool`. Every option is an attribute of the same name (the body is `function`);
    `replace(**options)` gives a changed copy. Pickles when its callables do.
    """

    # Slots and no `__getattr__`: with one, every `tool.execute` would make a bound method.
    __slots__ = ("_given", "_is_async", "_schemas", "description", "function", "id", *(set(DEFAULTS) - {"execute"}))

    _given: Mapping[str, Any]
    _schemas: Mapping[str, CompiledSchema]
    _is_async: bool

    def __new__(cls, **given: Any) -> Tool[Any, Any]:
        """Made from the options of `create_tool`."""
        options = checked_options(given)
        how = {name: options[name] for name in _VALIDATOR_OPTIONS if options[name] is not DEFAULTS[name]} or _NO_OPTIONS
        schemas = {}
        for option in SCHEMAS:
            if options[option] is not None:
                mode: Literal["input", "output"] = "output" if option == "output_schema" else "input"
                schemas[option] = compile_schema(option, options[option], mode, how)
        self = cls._made(given, options, schemas)
        self._check_examples()
        return self

    @classmethod
    def _made(
        cls, given: Mapping[str, Any], options: Mapping[str, Any], schemas: Mapping[str, CompiledSchema]
    ) -> Tool[Any, Any]:
        function = options["execute"]
        is_async = function is not None and is_async_callable(function)
        input_schema, output_schema = schemas.get("input_schema"), schemas.get("output_schema")
        asks_for_more = options["timeout"] is not None or "request_context_schema" in schemas
        in_thread = function is not None and not is_async and options["run_sync_in"] == "thread"
        self = super().__new__(
            cls,
            id=options["id"],
            function=function,
            takes_context=function is not None and body_shape(function),
            input=None if input_schema is None else input_schema.validator,
            text=ANY_JSON if input_schema is None else input_schema.validator,
            output=None if output_schema is None else output_schema.validator,
            build_input=None if input_schema is None else input_schema.build,
            build_output=None if output_schema is None else output_schema.build,
            slow=asks_for_more or in_thread,
            slow_sync=asks_for_more or is_async,
        )
        set_attribute = object.__setattr__
        for option, value in options.items():
            set_attribute(self, "function" if option == "execute" else option, value)
        set_attribute(self, "_given", dict(given))
        set_attribute(self, "_schemas", schemas)
        set_attribute(self, "_is_async", is_async)
        return self

    def _check_examples(self) -> None:
        for index, example in enumerate(self.input_examples or ()):
            checked = check_input(self, example)
            if isinstance(checked, ValidationError) or checked.repairs:
                why = checked.issues[0].message if isinstance(checked, ValidationError) else checked.repairs[0]
                raise ValueError(f"input_examples.{index}: does not satisfy input_schema: {why}")

    # ------------------------------------------------------------------------------------- attributes

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a tool cannot be changed: use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a tool cannot be changed")

    if TYPE_CHECKING:
        id: str
        description: str
        function: Callable[..., Any] | None
        title: str | None
        input_schema: Any
        output_schema: Any
        suspend_schema: Any
        resume_schema: Any
        request_context_schema: Any
        strict: bool | None
        require_approval: bool | Callable[[In, ToolExecutionContext], Any]
        to_model_output: Callable[[Out], Any] | None
        transform: ToolPayloadTransform | None
        mcp: MCPToolProperties | None
        provider_options: Mapping[str, Any] | None
        input_examples: tuple[Any, ...] | None
        background: ToolBackgroundConfig | None
        on_input_start: Hook | None
        on_input_delta: Hook | None
        on_input_available: Hook | None
        on_output: Hook | None
        on_error: Hook | None
        on_suspend: Hook | None
        repair_input: bool
        run_sync_in: Literal["thread", "inline"]
        timeout: float | None
        grace: float
        dialect: str | None
        registry: Any
        formats: bool
        limits: Limits | None
        redact: tuple[str, ...]
        show_data: bool

    @property
    def can_execute(self) -> bool:
        """Whether the tool has a body."""
        return self.function is not None

    @property
    def input_json_schema(self) -> dict[str, Any] | bool | None:
        """The JSON Schema of the input, or None where it is not validated."""
        return self._json_schema("input_schema")

    @property
    def output_json_schema(self) -> dict[str, Any] | bool | None:
        """The JSON Schema of the output, or None where it is not validated."""
        return self._json_schema("output_schema")

    def _json_schema(self, option: str) -> dict[str, Any] | bool | None:
        schema = self._schemas.get(option)
        return None if schema is None else schema.json_schema

    # -------------------------------------------------------------------------------------- validation

    def validate_input(self, value: object) -> In:
        """The validated (and if need be repaired) input. Raises `ValidationError`."""
        accepted: In = _raised(check_input(self, value))
        return accepted

    def validate_input_json(self, text: str | bytes) -> In:
        """The validated input from argument text. Raises `ValidationError`, also for text that is not JSON."""
        accepted: In = _raised(check_input(self, text, is_text=True))
        return accepted

    def validate_output(self, value: object) -> Out:
        """The validated output, as a caller gets it. Raises `ValidationError`."""
        checked = self._accept_output(value)
        if isinstance(checked, ValidationError):
            raise checked
        output: Out = checked[0]
        return output

    def validate_suspend(self, value: object) -> Any:
        """The validated suspend payload. Raises `ValidationError`."""
        return check_data(self, "suspend_schema", "suspend", value)

    def validate_resume(self, value: object) -> Any:
        """The validated (and if need be repaired) resume data. Raises `ValidationError`."""
        return check_data(self, "resume_schema", "resume", value)

    def validate_request_context(self, value: Mapping[str, Any]) -> Any:
        """The validated request context, from a `RequestContext` or a mapping. Raises `ValidationError`."""
        return check_data(self, "request_context_schema", "request_context", dict(value))

    def stream_input(self, *, repair: Iterable[str] = ()) -> InputStream:
        """A stream that reads the input's text while it arrives; `repair` as for `InputStream`."""
        schema = self._schemas.get("input_schema")
        return InputStream(None if schema is None else schema.validator, repair=repair)

    # -------------------------------------------------------------------------------------- the object

    def replace(self, **options: Any) -> Tool[Any, Any]:
        """A copy with other options, checked as by `create_tool`."""
        return Tool(**{**self._given, **options})

    def __reduce__(self) -> tuple[Any, ...] | str:
        for schema in self._schemas.values():
            schema.make_portable()
        return _restored, (dict(self._given),)

    def __copy__(self) -> Tool[In, Out]:
        return self

    def __deepcopy__(self, _memo: object) -> Tool[In, Out]:
        return self

    def __repr__(self) -> str:
        kind = "async" if self._is_async else "sync" if self.can_execute else "definition only"
        schemas = "".join(f", {option}=..." for option in self._schemas)
        return f"Tool(id={self.id!r}, {kind}{schemas})"

    if TYPE_CHECKING:

        @overload
        def execute(
            self, input: Any, context: Any = None, *, raises: Literal[False] = False
        ) -> Coroutine[Any, Any, Out | ValidationError]: ...
        @overload
        def execute(self, input: Any, context: Any = None, *, raises: Literal[True]) -> Coroutine[Any, Any, Out]: ...
        @overload
        def execute(
            self, input: Any, context: Any = None, *, raises: bool = False
        ) -> Coroutine[Any, Any, Out | ValidationError]: ...
        def execute(self, input: Any, context: Any = None, *, raises: bool = False) -> Coroutine[Any, Any, Any]: ...

        @overload
        def execute_json(
            self, text: str | bytes, context: Any = None, *, raises: Literal[False] = False
        ) -> Coroutine[Any, Any, Out | ValidationError]: ...
        @overload
        def execute_json(
            self, text: str | bytes, context: Any = None, *, raises: Literal[True]
        ) -> Coroutine[Any, Any, Out]: ...
        @overload
        def execute_json(
            self, text: str | bytes, context: Any = None, *, raises: bool = False
        ) -> Coroutine[Any, Any, Out | ValidationError]: ...
        def execute_json(
            self, text: str | bytes, context: Any = None, *, raises: bool = False
        ) -> Coroutine[Any, Any, Any]: ...

        @overload
        def execute_sync(
            self, input: Any, context: Any = None, *, raises: Literal[False] = False
        ) -> Out | ValidationError: ...
        @overload
        def execute_sync(self, input: Any, context: Any = None, *, raises: Literal[True]) -> Out: ...
        @overload
        def execute_sync(self, input: Any, context: Any = None, *, raises: bool = False) -> Out | ValidationError: ...
        def execute_sync(self, input: Any, context: Any = None, *, raises: bool = False) -> Any: ...

        @overload
        def execute_json_sync(
            self, text: str | bytes, context: Any = None, *, raises: Literal[False] = False
        ) -> Out | ValidationError: ...
        @overload
        def execute_json_sync(self, text: str | bytes, context: Any = None, *, raises: Literal[True]) -> Out: ...
        @overload
        def execute_json_sync(
            self, text: str | bytes, context: Any = None, *, raises: bool = False
        ) -> Out | ValidationError: ...
        def execute_json_sync(self, text: str | bytes, context: Any = None, *, raises: bool = False) -> Any: ...

        def execute_or_raise(self, input: Any, context: Any = None) -> Coroutine[Any, Any, Out]: ...


if TYPE_CHECKING:
    Body = Callable[[In, ToolExecutionContext], Any] | Callable[[In], Any]

    class ToolOptions(TypedDict, total=False):
        """The options of `create_tool` beside its id, description, input, output and body."""

        title: str | None
        suspend_schema: Any
        resume_schema: Any
        request_context_schema: Any
        strict: bool | None
        require_approval: bool | Callable[[Any, ToolExecutionContext], Any]
        to_model_output: Callable[[Any], Any] | None
        transform: ToolPayloadTransform | Mapping[str, Any] | None
        mcp: MCPToolProperties | Mapping[str, Any] | None
        provider_options: Mapping[str, Any] | None
        input_examples: Sequence[Any] | None
        background: ToolBackgroundConfig | Mapping[str, Any] | None
        on_input_start: Callable[[InputStartEvent], Any] | None
        on_input_delta: Callable[[InputDeltaEvent], Any] | None
        on_input_available: Callable[[InputAvailableEvent[Any]], Any] | None
        on_output: Callable[[OutputEvent[Any]], Any] | None
        on_error: Callable[[ErrorEvent], Any] | None
        on_suspend: Callable[[SuspendEvent], Any] | None
        repair_input: bool
        run_sync_in: Literal["thread", "inline"]
        timeout: float | None
        grace: float
        dialect: str | None
        registry: Any
        formats: bool
        limits: Limits | None
        redact: Sequence[str]
        show_data: bool


@overload
def create_tool(
    *,
    id: str,
    description: str,
    input_schema: type[In],
    output_schema: type[Out],
    execute: Body[In] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool[In, Out]: ...
@overload
def create_tool(
    *,
    id: str,
    description: str,
    input_schema: type[In],
    output_schema: Any = None,
    execute: Body[In] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool[In, Any]: ...
@overload
def create_tool(
    *,
    id: str,
    description: str,
    input_schema: Any = None,
    output_schema: type[Out],
    execute: Body[Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool[Any, Out]: ...
@overload
def create_tool(
    *,
    id: str,
    description: str,
    input_schema: Any = None,
    output_schema: Any = None,
    execute: Body[Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool[Any, Any]: ...
def create_tool(**options: Any) -> Tool[Any, Any]:
    """Makes a tool. All options are keyword-only; times are in seconds.

    Args:
        id: 1 to 128 of `A-Z a-z 0-9 _ . -`.
        description: what the tool does, for the model; not empty.
        title: a name for people.
        input_schema, output_schema, suspend_schema, resume_schema, request_context_schema: a schema source each (a
            JSON Schema, a class, an annotation, a pydantic type, ...); None is not validated.
        execute: the body, `(input, context)` or `(input)`, async or sync; None for a definition that somebody else
            executes.
        strict: whether a provider is asked for its strict mode; None leaves it to the provider.
        require_approval: whether a person has to approve a call; a bool or `(input, context) -> bool`.
        to_model_output: `(output) -> ModelOutput`, what the model is given instead of the output.
        transform: what displays and transcripts see of the payloads.
        mcp: annotations and `_meta` for MCP clients.
        provider_options: sent unchanged, by provider.
        input_examples: valid inputs, for providers that take examples.
        background: whether and how calls may run in the background.
        on_input_start, on_input_delta, on_input_available, on_output, on_error, on_suspend: `(event) -> None`, sync
            or async; they fire in runs.
        repair_input: whether an invalid input is repaired before it fails.
        run_sync_in: where a synchronous body runs: "thread", or "inline" in the event loop.
        timeout, grace: how long a body may run, and how long it is waited for after it was stopped.
        dialect, registry, formats, limits: as of `Validator`, for all schemas.
        redact: more names of keys whose values no message shows.
        show_data: whether messages show data at all.

    Raises:
        SchemaError: a broken schema, naming the option.
        TypeError, ValueError: an unknown option, or a value that is not as expected, naming the option.
    """
    return Tool(**options)


def _restored(given: dict[str, Any]) -> Tool[Any, Any]:
    return Tool(**given)


def _raised(checked: Accepted | ValidationError) -> Any:
    if isinstance(checked, ValidationError):
        raise checked
    return checked.value
