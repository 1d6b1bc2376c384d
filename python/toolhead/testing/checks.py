"""Whether a tool can be given to models as it is.

Rules: spec/api.md sections 1, 6 and 9. What a tool is refused for when it is made need not be checked again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, get_args

from toolhead._core import Validator
from toolhead.errors import SchemaError, ValidationError
from toolhead.providers.definitions import ToolDefinitionWarning, wire_names
from toolhead.providers.registry import Provider
from toolhead.runs.toolset import ToolSet
from toolhead.tool import Tool

if TYPE_CHECKING:
    from toolhead.runs.toolset import AnyTool


def assert_valid_tool(tool: AnyTool, *, providers: Collection[Provider] = ()) -> None:
    """Checks that a model can be told of `tool` and can call it; says everything that is wrong at once.

    Checked are: every provider's definition can be made and is JSON; its name leads back to the tool; the defaults of
    the input's properties satisfy their own schemas; the examples satisfy the input schema.

    Args:
        tool: the tool.
        providers: the providers that must be told everything the tool says: a `ToolDefinitionWarning` is a fault then.

    Raises:
        AssertionError: naming the tool and each fault.
    """
    if not isinstance(tool, Tool):
        raise AssertionError(f"expected a Tool, got {type(tool).__name__}")
    known: tuple[Provider, ...] = get_args(Provider)
    for provider in providers:
        if provider not in known:
            raise ValueError(f"providers: expected some of {', '.join(known)}, got {provider!r}")
    faults = [fault for provider in known for fault in _told(tool, provider, must_be_whole=provider in providers)]
    faults += _defaults(tool)
    faults += _examples(tool)
    if faults:
        raise AssertionError("\n".join([f"The tool {tool.id!r} is not valid:", *(f"- {fault}" for fault in faults)]))


def _told(tool: AnyTool, provider: Provider, *, must_be_whole: bool) -> list[str]:
    tools = ToolSet([tool])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            json.dumps(tools.definitions(provider), allow_nan=False)
        except Exception as error:  # noqa: BLE001  whatever it is, the provider cannot be told
            return [f"{provider} cannot be told of it: {type(error).__name__}: {error}"]
    faults = [str(warning.message) for warning in caught if issubclass(warning.category, ToolDefinitionWarning)]
    name = wire_names(provider, tools)[tool.id]
    found = tools.resolve(name, provider)
    if found is None or found[1] is not tool:
        faults.append(f"its name for {provider}, {name!r}, does not lead back to it")
        return faults
    return faults if must_be_whole else []


def _defaults(tool: AnyTool) -> list[str]:
    schema = tool.input_json_schema
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    faults = []
    for name, member in (properties or {}).items():
        if not isinstance(member, Mapping) or "default" not in member:
            continue
        # References of the property lead to the root's definitions: only what the root asks of other keys is left out.
        alone = {"properties": {name: member}, **_definitions(schema)}
        faults += [
            f"the default of {name!r} does not satisfy its schema: {issue.message}"
            for issue in _issues(tool, alone, {name: member["default"]})
        ]
    return faults


def _definitions(schema: Any) -> dict[str, Any]:
    return {key: schema[key] for key in ("$schema", "$id", "$defs", "definitions") if key in schema}


def _issues(tool: AnyTool, schema: dict[str, Any], value: Any) -> list[Any]:
    try:
        options = {"dialect": tool.dialect, "registry": tool.registry, "formats": tool.formats}
        return Validator(schema, **options).issues(value)
    except SchemaError:  # a reference into a part of the root that is not here: the whole schema was compiled before
        return []


def _examples(tool: AnyTool) -> list[str]:
    faults = []
    for number, example in enumerate(tool.input_examples or ()):
        try:
            tool.validate_input(example)
        except ValidationError as error:
            faults.append(f"input_examples[{number}] does not satisfy the input schema: {error.issues[0].message}")
    return faults
