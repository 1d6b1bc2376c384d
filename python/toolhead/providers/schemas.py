"""A tool's schema as a provider's subset of JSON Schema wants it: pure rewriting, from one table a subset.

Rules: spec/api.md section 6. Only what the model is told is rewritten; validation always uses the author's schema, so a
bound that a subset lacks is told in the description and still holds.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

Schema = dict[str, Any]

STRUCTURE = frozenset({"type", "properties", "required", "items", "enum", "anyOf", "$ref", "$defs", "description"})
BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})


class Subset(NamedTuple):
    """What a provider accepts. Everything else is left out and, where it restricts a value, told in the description."""

    keywords: frozenset[str]
    formats: frozenset[str]
    closes_objects: bool = False
    """Every object says `additionalProperties: false`; an open map cannot be said at all."""
    all_required: bool = False
    """Every property is required; one that may be absent becomes one that may be null."""
    recursive: bool = True
    min_items: int | None = None
    """The largest `minItems` that is accepted; None: any."""
    list_types: bool = True
    """A list of types is accepted; otherwise `nullable` and `anyOf` stand for it."""
    needs_items: bool = False
    """An array without `items` is refused."""


class Rewritten(NamedTuple):
    """What came out."""

    schema: Schema
    told: tuple[str, ...]
    """Pointers of the keywords that moved into a description."""
    impossible: str | None
    """Pointer and reason of the first thing that the subset cannot say; the schema is then of no use."""


OPENAI_STRICT = Subset(
    keywords=STRUCTURE
    | BOUNDS
    | {"additionalProperties", "const", "title", "pattern", "format", "minItems", "maxItems"},
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
    closes_objects=True,
    all_required=True,
)
ANTHROPIC_STRICT = Subset(
    keywords=STRUCTURE | {"additionalProperties", "const", "title", "default", "format", "minItems", "allOf"},
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}),
    closes_objects=True,
    recursive=False,
    min_items=1,
)
GEMINI = Subset(
    keywords=STRUCTURE
    | BOUNDS - {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"additionalProperties", "default", "format", "minItems", "maxItems", "prefixItems", "minLength", "maxLength"}
    | {"pattern", "minProperties", "maxProperties"},
    formats=frozenset({"int32", "int64", "float", "double", "date-time", "date", "time", "duration"}),
)
GEMINI_OPENAPI = Subset(
    keywords=STRUCTURE - {"$ref", "$defs"}
    | BOUNDS - {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"format", "minItems", "maxItems", "minLength", "maxLength", "pattern", "default", "title", "nullable"},
    formats=frozenset({"int32", "int64", "float", "double", "date-time", "enum"}),
    recursive=False,
    list_types=False,
    needs_items=True,
)
SUBSETS: Mapping[str, Subset] = {
    "openai-strict": OPENAI_STRICT,
    "anthropic-strict": ANTHROPIC_STRICT,
    "gemini": GEMINI,
    "gemini-openapi-subset": GEMINI_OPENAPI,
}

SILENT = frozenset(
    {
        "$schema",
        "$id",
        "$anchor",
        "$comment",
        "$vocabulary",
        "$dynamicAnchor",
        "examples",
        "title",
        "default",
        "deprecated",
        "readOnly",
        "writeOnly",
        "discriminator",
        "additionalProperties",
        "x-optional",
        "$defs",
        "definitions",
    }
)
"""Keywords whose loss needs no words: they restrict nothing, or the description would not help."""

LOOK_AROUND = re.compile(r"\(\?<?[=!]")


class _Impossible(Exception):
    pass


def rewrite(schema: Schema | bool, subset: Subset) -> Rewritten:
    """`schema` in the form that `subset` accepts. The argument is not changed."""
    told: list[str] = []
    try:
        whole = _root(schema)
        rewriter = _Rewriter(whole, subset, told)
        result = rewriter.node(whole, "")
    except _Impossible as error:
        return Rewritten({}, tuple(told), str(error))
    if subset.closes_objects and not _is_object(result):
        return Rewritten({}, tuple(told), "/: the root is not a plain object")
    return Rewritten(result, tuple(told), None)


def object_schema(schema: Schema | bool | None) -> Schema:
    """The author's schema as a definition sends it: nothing is an empty closed object, `true` any object."""
    if schema is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    if isinstance(schema, bool):
        return {"type": "object"}
    return copy.deepcopy(schema)


def _root(schema: Schema | bool) -> Schema:
    whole = object_schema(schema)
    if "definitions" in whole and "$defs" not in whole:
        whole["$defs"] = whole.pop("definitions")
        whole = json.loads(json.dumps(whole).replace('"#/definitions/', '"#/$defs/'))
    if "type" not in whole and "properties" in whole:
        whole["type"] = "object"
    return whole


class _Rewriter:
    def __init__(self, whole: Schema, subset: Subset, told: list[str]) -> None:
        self.whole = whole
        self.subset = subset
        self.told = told
        self.inlining: tuple[str, ...] = ()

    def node(self, schema: Any, at: str) -> Schema:
        subset = self.subset
        if not isinstance(schema, Mapping) or not schema:
            if schema is False or subset.closes_objects:
                raise _Impossible(f"{at or '/'}: a schema that says nothing about its value")
            return {}
        node = self._unions(dict(schema), at)
        if "$ref" in node:
            return self._reference(node, at)
        out: Schema = {}
        lost: list[str] = []
        for keyword, value in node.items():
            if keyword not in subset.keywords or not self._fits(keyword, value):
                if keyword not in SILENT:
                    lost.append(_words(keyword, value))
                    self.told.append(f"{at}/{keyword}")
            elif keyword in ("properties", "$defs"):
                out[keyword] = {
                    name: self.node(child, f"{at}/{keyword}/{_escape(name)}") for name, child in value.items()
                }
            elif keyword == "items":
                out["items"] = self.node(value, f"{at}/items")
            elif keyword in ("anyOf", "allOf", "prefixItems"):
                out[keyword] = [self.node(child, f"{at}/{keyword}/{index}") for index, child in enumerate(value)]
            elif keyword == "additionalProperties" and isinstance(value, Mapping):
                out[keyword] = self.node(value, f"{at}/{keyword}") if value else True
            else:
                out[keyword] = copy.deepcopy(value)
        self._object(out, node, at)
        self._array(out, at)
        if not subset.list_types:
            out = _scalar_types(out)
        if subset.closes_objects and not out.keys() & {"type", "enum", "const", "anyOf", "allOf", "$ref"}:
            raise _Impossible(f"{at or '/'}: a schema without a type")
        _describe(out, lost)
        return out

    def _unions(self, node: Schema, at: str) -> Schema:
        subset = self.subset
        if "oneOf" in node:
            if "anyOf" in node:
                raise _Impossible(f"{at}/oneOf: beside anyOf")
            node["anyOf"] = node.pop("oneOf")
        if "const" in node and "const" not in subset.keywords:
            node["enum"] = [node.pop("const")]
        parts = node.get("allOf")
        if parts and "allOf" not in subset.keywords:
            if len(parts) > 1 or (isinstance(parts[0], Mapping) and parts[0].keys() & (node.keys() - {"allOf"})):
                raise _Impossible(f"{at}/allOf")
            del node["allOf"]
            node.update(parts[0])
        return node

    def _fits(self, keyword: str, value: Any) -> bool:
        if keyword == "format":
            return value in self.subset.formats
        if keyword == "pattern":
            return LOOK_AROUND.search(value) is None
        if keyword == "minItems" and self.subset.min_items is not None:
            return bool(value <= self.subset.min_items)
        return True

    def _reference(self, node: Schema, at: str) -> Schema:
        reference = node.pop("$ref")
        definitions = node.pop("$defs", None)
        target = self._target(reference, at)
        if "$ref" not in self.subset.keywords or (not self.subset.recursive and reference in self.inlining):
            if reference in self.inlining or reference == "#":
                raise _Impossible(f"{at}/$ref: a schema that contains itself")
            before, self.inlining = self.inlining, (*self.inlining, reference)
            inlined = self.node(_both(target, node, at), at)
            self.inlining = before
            return inlined
        if not self.subset.recursive:
            before, self.inlining = self.inlining, (*self.inlining, reference)
            told = len(self.told)
            self.node(target, at)  # finds a schema that contains itself
            del self.told[told:]
            self.inlining = before
        out: Schema = {"$ref": reference}
        if node:  # nothing may stand beside a reference, so it goes into a union of one
            lost = {key: value for key, value in node.items() if key not in SILENT | {"description"}}
            out = {key: node[key] for key in ("description", "title") if key in node} | {"anyOf": [out]}
            _describe(out, [_words(key, value) for key, value in lost.items()])
            self.told += [f"{at}/{key}" for key in lost]
        if definitions is not None:
            out["$defs"] = {
                name: self.node(child, f"{at}/$defs/{_escape(name)}") for name, child in definitions.items()
            }
        return out

    def _target(self, reference: str, at: str) -> Schema:
        target: Any = self.whole
        steps = reference.removeprefix("#").split("/")[1:] if reference.startswith("#") else None
        if steps and (len(steps) != 2 or steps[0] != "$defs"):
            steps = None
        for step in steps or ():
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        if steps is None or not isinstance(target, Mapping):
            raise _Impossible(f"{at}/$ref: a reference to something other than the root or a top-level definition")
        return dict(target)

    def _object(self, out: Schema, node: Schema, at: str) -> None:
        if not _is_object(out) and "properties" not in out:
            return
        if self.subset.closes_objects:
            open_part = node.get("additionalProperties", False)
            if (
                open_part is not False
                or "patternProperties" in node
                or not node.get("properties", node.get("additionalProperties") is False)
            ):
                raise _Impossible(f"{at or '/'}: a map with free keys")
            out["additionalProperties"] = False
            out.setdefault("properties", {})
        if self.subset.all_required and "properties" in out:
            required = set(out.get("required", ()))
            properties = out["properties"]
            out["properties"] = {
                name: child if name in required else _nullable(child) for name, child in properties.items()
            }
            out["required"] = list(properties)

    def _array(self, out: Schema, at: str) -> None:
        types = out.get("type")
        if "items" in out or not (types == "array" or (isinstance(types, list) and "array" in types)):
            return
        if self.subset.closes_objects:
            raise _Impossible(f"{at or '/'}: an array without a schema of its items")
        if self.subset.needs_items:
            out["items"] = {"type": "string"}


HIGHER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
LOWER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


def _both(target: Schema, beside: Schema, at: str) -> Schema:
    """One schema for a reference's target and the keywords beside the reference: both hold."""
    both = {**target, **beside}
    for keyword in target.keys() & beside.keys() - SILENT - {"description"}:
        one, other = target[keyword], beside[keyword]
        if keyword in HIGHER:
            both[keyword] = max(one, other)
        elif keyword in LOWER:
            both[keyword] = min(one, other)
        elif keyword == "required":
            both[keyword] = [*one, *(name for name in other if name not in one)]
        elif keyword == "enum":
            both[keyword] = [value for value in one if value in other]
        elif one != other:
            raise _Impossible(f"{at}/$ref: {keyword} stands both in it and beside it")
    return both


def _words(keyword: str, value: Any) -> str:
    return f"{keyword}: {json.dumps(value, ensure_ascii=False)}"


def _describe(out: Schema, lost: list[str]) -> None:
    """Tells in the description what the subset has no keyword for."""
    if lost:
        out["description"] = " ".join([*filter(None, [out.get("description")]), f"({'; '.join(lost)})"])


def _is_object(node: Schema) -> bool:
    types = node.get("type")
    return types == "object" or (isinstance(types, list) and "object" in types)


def _nullable(node: Schema) -> Schema:
    """`node`, or null: how a property that may be absent is said where all are required."""
    types = node.get("type")
    if types == "null" or (isinstance(types, list) and "null" in types) or {"type": "null"} in node.get("anyOf", ()):
        return node
    if types is not None and "anyOf" not in node and "const" not in node:
        wider = {**node, "type": [*(types if isinstance(types, list) else [types]), "null"]}
        if "enum" in node and None not in node["enum"]:
            wider["enum"] = [*node["enum"], None]
        return wider
    description = {"description": node["description"]} if "description" in node else {}
    bare = {key: value for key, value in node.items() if key != "description"}
    if bare.keys() == {"anyOf"}:
        return {**description, "anyOf": [*bare["anyOf"], {"type": "null"}]}
    return {**description, "anyOf": [bare, {"type": "null"}]}


def _scalar_types(node: Schema) -> Schema:
    types = node.get("type")
    if isinstance(types, list):
        named = [name for name in types if name != "null"]
        out = {key: value for key, value in node.items() if key != "type"}
        if len(named) < len(types):
            out["nullable"] = True
        if len(named) == 1:
            out["type"] = named[0]
        else:
            out["anyOf"] = [{"type": name} for name in named]
        return out
    if {"type": "null"} in node.get("anyOf", ()):
        rest = [child for child in node["anyOf"] if child != {"type": "null"}]
        out = {key: value for key, value in node.items() if key != "anyOf"}
        return {**out, "nullable": True, **(rest[0] if len(rest) == 1 else {"anyOf": rest})}
    return node


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
