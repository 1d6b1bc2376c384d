"""`toolhead call`: one call of a tool, from JSON text to JSON text."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from toolhead.cli.errors import INVALID, CommandError
from toolhead.cli.target import HELP, load_tool, read_text
from toolhead.errors import ToolError, ToolSuspended, ValidationError
from toolhead.runs.sendable import sendable

if TYPE_CHECKING:
    import argparse

    from toolhead.runs.toolset import AnyTool

SUMMARY = "call a tool and print its result as JSON"
EXAMPLES = """examples:
  toolhead call weather:tool '{"place": "Lima"}'
  toolhead call weather:tool @arguments.json
  echo '{"place": "Lima"}' | toolhead call weather:tool -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("tool", help=HELP)
    parser.add_argument("arguments", nargs="?", default="{}", help="JSON text, @file, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print a refusal as JSON, too")


def run(options: argparse.Namespace) -> int:
    """The command."""
    tool, text = load_tool(options.tool), read_text(options.arguments)
    try:
        outcome = asyncio.run(_called(tool, text))
    except ToolSuspended as suspension:
        raise CommandError(f"{tool.id} suspended: {json.dumps(sendable(suspension.payload))}", INVALID) from suspension
    except ToolError as error:
        raise CommandError(str(error), INVALID) from error
    except Exception as error:  # whatever a body raises
        raise CommandError(f"{tool.id} raised {type(error).__name__}: {error}", INVALID) from error
    if not isinstance(outcome, ValidationError):
        print(json.dumps(sendable(outcome), ensure_ascii=False, indent=2))
        return 0
    if options.json:
        print(json.dumps(outcome.to_dict(), ensure_ascii=False, indent=2))
    else:
        print(outcome.message, file=sys.stderr)
    return INVALID


async def _called(tool: AnyTool, text: str) -> Any:
    return await tool.execute_json(text)
