"""`toolhead schema`: what a model, or a provider's request, is told of a tool."""

from __future__ import annotations

import json
import sys
import warnings
from typing import TYPE_CHECKING, Any

from toolhead.cli.errors import INVALID, CommandError
from toolhead.cli.target import HELP, load_tools
from toolhead.providers.registry import PROVIDERS
from toolhead.providers.schemas import SUBSETS, object_schema, rewrite

if TYPE_CHECKING:
    import argparse

SUMMARY = "print the JSON Schema of tools, or their definitions for a provider"
EXAMPLES = """examples:
  toolhead schema weather:tool
  toolhead schema weather:tool --output
  toolhead schema weather:tools --provider anthropic
  toolhead schema weather:tool --subset openai-strict"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("tools", help=HELP)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--output", action="store_true", help="the output's schema instead of the input's")
    which.add_argument("--provider", choices=PROVIDERS, help="the definitions in a request to this provider")
    which.add_argument("--subset", choices=tuple(SUBSETS), help="the input's schema in this subset")


def run(options: argparse.Namespace) -> int:
    """The command."""
    tools = load_tools(options.tools)
    if options.provider is not None:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made: Any = tools.definitions(options.provider)
        for warning in told:
            print(f"toolhead: {warning.message}", file=sys.stderr)
    else:
        schemas = {
            name: tool.output_json_schema if options.output else tool.input_json_schema for name, tool in tools.items()
        }
        if options.subset is not None:
            schemas = {name: _rewritten(name, schema, options.subset) for name, schema in schemas.items()}
        made = next(iter(schemas.values())) if len(schemas) == 1 else schemas
    print(json.dumps(made, ensure_ascii=False, indent=2))
    return 0


def _rewritten(name: str, schema: Any, subset: str) -> Any:
    result = rewrite(object_schema(schema), SUBSETS[subset])
    if result.impossible is not None:
        raise CommandError(f"{name}: {subset} cannot say {result.impossible}", INVALID)
    return result.schema
