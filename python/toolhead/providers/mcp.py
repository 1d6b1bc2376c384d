"""The entry of a tool in an MCP server's `tools/list`.

Rules: spec/api.md section 7; behaviour document section 17. Annotations and `_meta` stay as they are, `strict` joins
`_meta`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.providers.schemas import Schema, object_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolhead.providers.definitions import Definition


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The entries of `tools/list`."""
    out = []
    for tool in tools:
        tool.no_examples("mcp")
        schema = {"type": "object"} if tool.schema is None else _rooted(object_schema(tool.schema))
        entry: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": schema}
        if tool.title is not None:
            entry["title"] = tool.title
        if tool.output_schema is not None:
            entry["outputSchema"] = _rooted(object_schema(tool.output_schema))
        if "annotations" in tool.mcp:
            entry["annotations"] = tool.mcp["annotations"]
        meta = dict(tool.mcp.get("_meta") or {})
        if tool.strict is not None:
            meta["mastra"] = {**meta.get("mastra", {}), "strict": tool.strict}
        if meta:
            entry["_meta"] = meta
        out.append({**entry, **tool.options_for("mcp")})
    return out


def _rooted(schema: Schema) -> Schema:
    """`schema` with `type: object` at its root, where MCP requires it, if its root is a reference to such a definition.

    The definition's keywords stand at the root then; a keyword that stands in both stays under the reference.
    """
    reference = schema.get("$ref")
    if "type" in schema or not isinstance(reference, str):
        return schema
    target: Any = schema
    for step in reference.removeprefix("#").split("/")[1:] if reference.startswith("#/") else ():
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    if not isinstance(target, dict) or target is schema or target.get("type") != "object" or "$id" in target:
        return schema
    if target.keys() & schema.keys():
        return {"type": "object", **schema}
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
