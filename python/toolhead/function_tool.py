"""`@tool`: a tool from a typed function, that can still be called like the function.

Source: spec/api.md section 1. The input schema is read from the parameters, the output schema from the return
annotation, the texts from the docstring.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from toolhead.schema_sources import resolve
from toolhead.tool import Tool
from toolhead.tool_options import checked_options, is_async_callable

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Unpack

    from toolhead._core import ToolExecutionContext
    from toolhead.tool import ToolOptions

__all__ = ["FunctionTool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")
Out = TypeVar("Out")


class _Body:
    """The body of a function tool: the validated arguments, given as the function takes them."""

    __slots__ = ("context", "function", "is_async", "positional")

    def __init__(self, function: Callable[..., Any], positional: tuple[str, ...], context: str | None) -> None:
        self.function = function
        self.positional = positional
        self.context = context
        self.is_async = is_async_callable(function)

    def __call__(self, arguments: dict[str, Any], context: ToolExecutionContext) -> Any:
        named = arguments if self.context is None else {**arguments, self.context: context}
        if not self.positional:
            return self.function(**named)
        ordered = [name for name in self.positional if name in named]
        rest = {name: value for name, value in named.items() if name not in self.positional}
        return self.function(*(named[name] for name in ordered), **rest)

    def bound_to(self, instance: object) -> _Body:
        return _Body(self.function.__get__(instance), self.positional, self.context)


class FunctionTool(Tool[dict[str, Any], Out], Generic[P, R, Out]):
    """A tool that is called like its function. Its `function` is the body; `__wrapped__` is what was decorated.

    As the attribute of a class it binds like a method: `instance.name` is the tool of that instance.
    """

    __slots__ = ("__wrapped__", "_decorator_options", "_owner")

    __wrapped__: Callable[P, R]
    _decorator_options: dict[str, Any]
    _owner: object

    @classmethod
    def _decorated(cls, function: Callable[..., Any], given: Mapping[str, Any]) -> FunctionTool[Any, Any, Any]:
        from toolhead.schema_sources.signature import function_schema

        for option in ("execute", "input_schema"):
            if option in given:
                raise TypeError(f"{option}: is the function's own; use create_tool to give one")
        schema = function_schema(function, resolve, is_method=_is_method(function))
        options = {
            "id": schema.name,
            "description": schema.description,
            "output_schema": schema.output,
            **given,
            "input_schema": schema.input,
            "execute": _Body(function, schema.positional, schema.context),
        }
        if not options["description"]:
            raise ValueError(f"description: expected one, in the docstring of {schema.name} or as description=")
        made = cls(**options)
        return made._as_function(function, given, None)

    def _as_function(
        self, function: Callable[..., Any], given: Mapping[str, Any], owner: object
    ) -> FunctionTool[P, R, Out]:
        object.__setattr__(self, "__wrapped__", function)
        object.__setattr__(self, "_decorator_options", dict(given))
        object.__setattr__(self, "_owner", owner)
        object.__setattr__(self, "input_schema", self.input_json_schema)
        return self

    @property
    def __name__(self) -> str:
        return getattr(self.__wrapped__, "__name__", self.id)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function itself: nothing is validated."""
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool[..., R, Out]:
        """The tool of one instance, for a function that is a method."""
        if instance is None or not _is_method(self.__wrapped__):
            return self
        body: Any = self.function
        options = {**checked_options(self._given), "execute": body.bound_to(instance)}
        made: Any = type(self)._made({**self._given, "execute": options["execute"]}, options, self._schemas)
        bound: FunctionTool[..., R, Out] = made._as_function(
            self.__wrapped__.__get__(instance), self._decorator_options, instance
        )
        return bound

    def replace(self, **options: Any) -> FunctionTool[P, R, Out]:
        """A copy with other options, checked as by `@tool`."""
        return type(self)._decorated(self.__wrapped__, {**self._decorator_options, **options})

    def __reduce__(self) -> tuple[Any, ...] | str:
        function: Any = self.__wrapped__
        if self._owner is not None:
            return getattr, (self._owner, function.__name__)
        module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
        if module is not None and name is not None and "<locals>" not in name:
            if _found(module, name) is self:
                return _referred, (module, name)
            if _found(module, name) is function:
                return _tool_of, (function, self._decorator_options)
        if name is None:
            return _tool_of, (function, self._decorator_options)
        from pickle import PicklingError

        raise PicklingError(f"the tool '{self.id}' cannot be found as {module}.{name}")


@overload
def tool(function: Callable[P, Awaitable[Out]], /) -> FunctionTool[P, Awaitable[Out], Out]: ...
@overload
def tool(function: Callable[P, Out], /) -> FunctionTool[P, Out, Out]: ...
@overload
def tool(
    *, id: str = ..., description: str = ..., output_schema: Any = ..., **options: Unpack[ToolOptions]
) -> _Decorator: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Makes a tool from a typed function: `@tool`, or `@tool(...)` with the options of `create_tool`.

    The id is the function's name, the description and those of the properties come from its docstring (Google, NumPy
    or Sphinx style), the schemas from its annotations. A parameter annotated `ToolExecutionContext` is given the
    context and is not in the schema. Arguments that the function does not take are refused.

    Raises:
        TypeError: `*args` or `**kwargs`, an unknown option, or `execute` or `input_schema`.
        SchemaError: an annotation that has no JSON Schema, naming the parameter.
        ValueError: no description.
    """
    if function is None:
        return lambda decorated: FunctionTool._decorated(decorated, options)
    return FunctionTool._decorated(function, options)


if TYPE_CHECKING:
    from typing import Protocol

    class _Decorator(Protocol):
        @overload
        def __call__(self, function: Callable[P, Awaitable[Out]], /) -> FunctionTool[P, Awaitable[Out], Out]: ...
        @overload
        def __call__(self, function: Callable[P, Out], /) -> FunctionTool[P, Out, Out]: ...


def _is_method(function: Any) -> bool:
    """Whether a plain function stands in a class body and takes the instance first."""
    code = getattr(function, "__code__", None)
    if code is None or getattr(function, "__self__", None) is not None or not code.co_argcount:
        return False
    scope = function.__qualname__.rpartition(".")[0]
    return bool(scope) and not scope.endswith("<locals>") and code.co_varnames[0] in ("self", "cls")


def _found(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for step in name.split("."):
        found = getattr(found, step, None)
    return found


def _referred(module: str, name: str) -> Any:
    """What a pickle refers to, in whatever process."""
    found: Any = import_module(module)
    for step in name.split("."):
        found = getattr(found, step)
    return found


def _tool_of(function: Callable[..., Any], options: Mapping[str, Any]) -> FunctionTool[Any, Any, Any]:
    return FunctionTool._decorated(function, options)
