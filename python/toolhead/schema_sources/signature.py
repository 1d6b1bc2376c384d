"""The schemas of a typed function: input from its parameters, output from its return annotation.

Source: spec/api.md section 1, `@tool`. Each parameter is a schema source of its own, so that any kind may stand in
one signature; their definitions are gathered at the root.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple

import msgspec

from toolhead._core import ToolExecutionContext
from toolhead.errors import SchemaError
from toolhead.schema_sources.docstring import described
from toolhead.schema_sources.source import Refused, Source

__all__ = ["FunctionSchema", "function_schema"]

Resolve = Callable[[Any, typing.Literal["input", "output"]], Source]


class FunctionSchema(NamedTuple):
    """What a signature and a docstring say.

    Attributes:
        name, description: of the function.
        input: its parameters as a source that builds the keyword arguments.
        output: the return annotation, or None where there is none to check.
        positional: the parameters that can only be given by position, in order.
        context: the parameter that takes the context, or None.
    """

    name: str
    description: str
    input: Source
    output: Any
    positional: tuple[str, ...]
    context: str | None


def function_schema(function: Any, resolve: Resolve, *, is_method: bool = False) -> FunctionSchema:
    """Reads a function, method or `functools.partial`.

    Args:
        function: what to read.
        resolve: finds the source of an annotation.
        is_method: whether the first parameter is the instance, to be left out.

    Raises:
        TypeError: a parameter that cannot be described (`*args`, `**kwargs`).
        SchemaError: an annotation without a JSON Schema, naming the parameter.
    """
    inner = function
    while hasattr(inner, "func"):
        inner = inner.func
    name = getattr(inner, "__name__", type(inner).__name__)
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError as error:
        raise SchemaError(f"{name}: an annotation cannot be read: {error}") from error
    description, texts = described(inspect.getdoc(inner))
    parameters = list(signature.parameters.values())[1 if is_method else 0 :]
    context = None
    positional: list[str] = []
    sources: dict[str, Source] = {}
    properties: dict[str, Any] = {}
    required: list[str] = []
    definitions: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{name}: the parameter {parameter} cannot be described by a schema")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(parameter.name)
        if _is_context(parameter.annotation):
            context = parameter.name
            continue
        annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
        try:
            source = resolve(annotation, "input")
        except SchemaError as error:
            raise SchemaError(f"{name}: parameter {parameter.name}: {error.message}") from error
        sources[parameter.name] = source
        schema = _hoisted(source.json_schema, definitions, parameter.name)
        if isinstance(schema, dict) and parameter.name in texts:
            schema.setdefault("description", texts[parameter.name])
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif isinstance(schema, dict):
            _add_default(schema, parameter.default)
        properties[parameter.name] = schema
    json_schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        json_schema["required"] = required
    if definitions:
        json_schema["$defs"] = definitions
    output = _returned(signature.return_annotation)
    return FunctionSchema(
        name, description, Source(json_schema, build=_builder(sources)), output, tuple(positional), context
    )


def _builder(sources: Mapping[str, Source]) -> Callable[[Any], Any] | None:
    builds = {name: source.build for name, source in sources.items() if source.build is not None}
    if not builds:
        return None

    def build(arguments: dict[str, Any]) -> dict[str, Any]:
        built = dict(arguments)
        for name, make in builds.items():
            if name in built:
                try:
                    built[name] = make(built[name])
                except Refused as refused:
                    issues = [
                        Refused.one((name, *issue.path), issue.message, keyword="build", value=issue.value).issues[0]
                        for issue in refused.issues
                    ]
                    raise Refused(issues) from refused
        return built

    return build


def _hoisted(schema: Any, definitions: dict[str, Any], name: str) -> Any:
    """The schema without its `$defs`, which go to the root; one whose name is taken gets another."""
    if not isinstance(schema, dict):
        return schema
    own = schema.get("$defs", {})
    renamed = {}
    for key, definition in own.items():
        if definitions.get(key, definition) != definition:
            renamed[f"#/$defs/{key}"] = f"#/$defs/{name}.{key}"
    result = {key: _renamed(value, renamed) for key, value in schema.items() if key != "$defs"}
    for key, definition in own.items():
        target = f"{name}.{key}" if f"#/$defs/{key}" in renamed else key
        definitions[target] = _renamed(definition, renamed)
    return result


def _renamed(schema: Any, renamed: Mapping[str, str]) -> Any:
    if not renamed:
        return schema
    if isinstance(schema, dict):
        return {
            key: renamed.get(value, value) if key == "$ref" and isinstance(value, str) else _renamed(value, renamed)
            for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [_renamed(item, renamed) for item in schema]
    return schema


def _add_default(schema: dict[str, Any], default: Any) -> None:
    try:
        schema.setdefault("default", msgspec.to_builtins(default, str_keys=True))
    except (TypeError, ValueError, RecursionError):
        return  # not JSON data: the function itself fills it in


def _is_context(annotation: Any) -> bool:
    return annotation is ToolExecutionContext or ToolExecutionContext in typing.get_args(annotation)


def _returned(annotation: Any) -> Any:
    if typing.get_origin(annotation) in (Awaitable, Coroutine):
        annotation = typing.get_args(annotation)[-1]
    return None if annotation in (inspect.Signature.empty, Any) else annotation
