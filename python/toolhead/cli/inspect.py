"""`toolhead inspect`: what a tool is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolhead.cli.target import HELP, load_tools
from toolhead.runs.sendable import sendable
from toolhead.tool_options import DEFAULTS, SCHEMAS

if TYPE_CHECKING:
    import argparse

    from toolhead.runs.toolset import AnyTool

SUMMARY = "show what a tool is: its options, schemas and hooks"
EXAMPLES = """examples:
  toolhead inspect weather:tool
  toolhead inspect weather:tools --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("tools", help=HELP)
    parser.add_argument("--json", action="store_true", help="as one JSON object by name")


def run(options: argparse.Namespace) -> int:
    """The command."""
    facts = {name: describe(tool) for name, tool in load_tools(options.tools).items()}
    if options.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
        return 0
    for name, known in facts.items():
        print(name)
        for option, value in known.items():
            print(f"  {option:<22}{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return 0


def describe(tool: AnyTool) -> dict[str, Any]:
    """Every option that is not as by default; functions by their names, schemas as JSON Schema."""
    known: dict[str, Any] = {"id": tool.id, "description": tool.description}
    known["body"] = "none: a definition" if tool.function is None else _name(tool.function)
    for option, default in DEFAULTS.items():
        if option == "execute" or option in known:
            continue
        value = getattr(tool, option)
        if value is default or value == default:
            continue
        if option in SCHEMAS:
            known[option] = tool._schemas[option].json_schema
        else:
            known[option] = _name(value) if callable(value) else sendable(value)
    return known


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or repr(function)
    return f"{module}.{name}" if module else name
