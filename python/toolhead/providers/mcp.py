"""The entry of a tool in an MCP server's `tools/list`.

Rules: spec/api.md section 7; behaviour document section 17. Annotations and `_meta` stay as they are, `strict` joins
`_meta`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.providers.schemas import object_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolhead.providers.definitions import Definition


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The entries of `tools/list`."""
    out = []
    for tool in tools:
        tool.no_examples("mcp")
        schema = {"type": "object"} if tool.schema is None else object_schema(tool.schema)
        entry: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": schema}
        if tool.title is not None:
            entry["title"] = tool.title
        if tool.output_schema is not None:
            entry["outputSchema"] = object_schema(tool.output_schema)
        if "annotations" in tool.mcp:
            entry["annotations"] = tool.mcp["annotations"]
        meta = dict(tool.mcp.get("_meta") or {})
        if tool.strict is not None:
            meta["mastra"] = {**meta.get("mastra", {}), "strict": tool.strict}
        if meta:
            entry["_meta"] = meta
        out.append({**entry, **tool.options_for("mcp")})
    return out
