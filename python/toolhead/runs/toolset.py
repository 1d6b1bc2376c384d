"""The tools that a model may call, by the names that it is given.

Rules: spec/api.md section 6. A name may be one that a provider does not accept: the provider is then given a stand-in,
and the stand-in, the name and the tool's id all find the tool again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from toolhead.providers.definitions import Definition, wire_names
from toolhead.providers.registry import Provider, adapter
from toolhead.tool import Tool

if TYPE_CHECKING:
    from toolhead.tool_options import MCPToolProperties

AnyTool: TypeAlias = Tool[Any, Any]


class ToolSet(Mapping[str, AnyTool]):
    """An immutable mapping of names to tools.

    Args:
        tools: tools, named by their ids, or a mapping of names to tools.

    Raises:
        TypeError: an entry is not a tool or a name is not text.
        ValueError: a name is empty or given twice.
    """

    def __init__(self, tools: Iterable[AnyTool] | Mapping[str, AnyTool] = ()) -> None:
        if isinstance(tools, ToolSet):
            self._tools: dict[str, AnyTool] = dict(tools)
            return
        self._tools = {}
        named = tools.items() if isinstance(tools, Mapping) else ((getattr(tool, "id", None), tool) for tool in tools)
        for name, tool in named:
            if not isinstance(tool, Tool):
                raise TypeError(f"A ToolSet holds tools; got {tool!r}")
            if not isinstance(name, str):
                raise TypeError(f"The name of a tool is text; got {name!r}")
            if not name or name in self._tools:
                raise ValueError(f"The name of a tool is not empty and unique in its ToolSet; got {name!r}")
            self._tools[name] = tool

    def __getitem__(self, name: str) -> AnyTool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"ToolSet({', '.join(self._tools)})"

    def definitions(
        self, provider: Provider, *, schema: Callable[[str, AnyTool], Any] | None = None
    ) -> list[dict[str, Any]]:
        """The tools in the form in which a request to `provider` describes them.

        Args:
            provider: whose form it is.
            schema: makes the schema of a tool's arguments from its name and the tool; None: it is the tool's own.

        What the provider does not take gives a `ToolDefinitionWarning` naming tool and option. Raises `ValueError` for
        an unknown provider.
        """
        speaks = adapter(provider)
        wire = wire_names(provider, self._tools)
        described = ((name, describe(wire[name], tool)) for name, tool in self._tools.items())
        if schema is None:
            return speaks.definitions([definition for _, definition in described])
        made = [definition._replace(schema=schema(name, self._tools[name])) for name, definition in described]
        return speaks.definitions(made)

    def resolve(self, called: str, provider: str) -> tuple[str, AnyTool] | None:
        """The tool that a model of `provider` means by `called`, and the name to tell it by, or None.

        A stand-in leads back to the tool's name; a tool's id is told as it is.
        """
        tool = self._tools.get(called)
        if tool is not None:
            return called, tool
        for name, given in wire_names(provider, self._tools).items():
            if given == called:
                return name, self._tools[name]
        return next(((called, tool) for tool in self._tools.values() if tool.id == called), None)


def describe(name: str, tool: AnyTool) -> Definition:
    """What a model is told of `tool` under `name`."""
    return Definition(
        name=name,
        description=tool.description,
        schema=tool.input_json_schema,
        output_schema=tool.output_json_schema,
        strict=tool.strict,
        options=tool.provider_options or {},
        examples=tuple(tool.input_examples or ()),
        title=tool.title,
        mcp={} if tool.mcp is None else mcp_properties(tool.mcp),
    )


def mcp_properties(properties: MCPToolProperties) -> dict[str, Any]:
    """`annotations` and `_meta` in their wire form: what is not set is not sent."""
    wire: dict[str, Any] = {}
    if properties.annotations is not None:
        hints = msgspec.to_builtins(properties.annotations)
        wire["annotations"] = {_camel(name): value for name, value in hints.items() if value is not None}
    if properties.meta is not None:
        wire["_meta"] = dict(properties.meta)
    return wire


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
