"""A tool as a provider wants it described: name, description, schema, strict, options, examples.

Rules: spec/api.md section 6. What a provider does not take is never dropped in silence: a `ToolDefinitionWarning` names
the tool, the option and the provider.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from toolhead.providers.schemas import Schema, Subset, object_schema, rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class ToolDefinitionWarning(UserWarning):
    """A provider cannot be told something that the tool says. The message names tool, option and provider."""


class Definition(NamedTuple):
    """One tool, as far as a model is concerned."""

    name: str
    description: str
    schema: Schema | bool | None
    output_schema: Schema | bool | None = None
    strict: bool | None = None
    options: Mapping[str, Any] = {}
    """`provider_options` as written: by provider."""
    examples: Sequence[Any] = ()
    title: str | None = None
    mcp: Mapping[str, Any] = {}
    """`annotations` and `_meta` in their wire form."""

    def warn(self, provider: str, option: str, why: str) -> None:
        """Says that `provider` is not told `option`."""
        warnings.warn(
            f"Tool {self.name!r}: {option} is not sent to {provider}: {why}", ToolDefinitionWarning, stacklevel=4
        )

    def options_for(self, *keys: str) -> dict[str, Any]:
        """The options under any of a provider's names."""
        return {name: value for key in keys for name, value in self.options.get(key, {}).items()}

    def strict_schema(self, provider: str, subset: Subset) -> tuple[Schema, bool]:
        """The schema to send and whether it may be called strict: False where the subset cannot say the schema."""
        if not self.strict:
            return object_schema(self.schema), False
        rewritten = rewrite(object_schema(self.schema), subset)
        if rewritten.impossible is not None:
            self.warn(provider, "strict", f"its strict mode cannot say {rewritten.impossible}")
            return object_schema(self.schema), False
        return rewritten.schema, True

    def no_examples(self, provider: str) -> None:
        """Says that `provider` has no place for examples, if the tool has any."""
        if self.examples:
            self.warn(provider, "input_examples", "its tool definitions have no place for examples")


class NameRule(NamedTuple):
    """Which names a provider accepts."""

    forbidden: re.Pattern[str]
    length: int


NAMES: Mapping[str, NameRule] = {
    "openai-chat": NameRule(re.compile(r"[^A-Za-z0-9_-]"), 64),
    "openai-responses": NameRule(re.compile(r"[^A-Za-z0-9_-]"), 64),
    "anthropic": NameRule(re.compile(r"[^A-Za-z0-9_-]"), 64),
    "gemini": NameRule(re.compile(r"[^A-Za-z0-9_.-]|^(?=[^A-Za-z_])"), 128),
    "bedrock": NameRule(re.compile(r"[^A-Za-z0-9_-]"), 64),
    "mistral": NameRule(re.compile(r"[^A-Za-z0-9_-]"), 64),
    "cohere": NameRule(re.compile(r"[^A-Za-z0-9_]|^(?=[0-9])"), 64),
    "mcp": NameRule(re.compile(r"[^A-Za-z0-9_.-]"), 128),
}


def wire_names(provider: str, names: Iterable[str]) -> dict[str, str]:
    """For each name, the one that `provider` is given: the same where it may be, else a readable, unique stand-in."""
    rule = NAMES[provider]
    names = list(names)
    wire: dict[str, str] = {}
    taken = {name for name in names if _allowed(name, rule)}
    for name in names:
        given = name
        if not _allowed(name, rule):
            given = rule.forbidden.sub("_", name)
            if len(given) > rule.length or given in taken:
                digest = hashlib.sha256(name.encode()).hexdigest()[:8]
                given = f"{given[: rule.length - 9]}_{digest}"
            taken.add(given)
        wire[name] = given
    return wire


def _allowed(name: str, rule: NameRule) -> bool:
    return len(name) <= rule.length and rule.forbidden.search(name) is None
