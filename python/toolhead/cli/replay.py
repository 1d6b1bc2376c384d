"""`toolhead replay FILE`: any recorded stream, through a runner."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolhead.cli.errors import INVALID, CommandError
from toolhead.cli.recorded import Recorded, load
from toolhead.cli.screen import Screen
from toolhead.cli.watch import watch
from toolhead.errors import DecodeError, SchemaError
from toolhead.providers.registry import STREAMING
from toolhead.tool import create_tool

if TYPE_CHECKING:
    import argparse

    from toolhead.runs.toolset import AnyTool

SUMMARY = "play a recorded model stream through tools"
EXAMPLES = """The tools are those of the recorded request, with bodies that give back what they were given; a tool that
the recording does not describe takes any arguments.

examples:
  toolhead replay streams/openai--openai-chat--001.sse
  toolhead replay response.sse --provider anthropic
  toolhead replay events.jsonl --provider gemini --pace 0.1"""

PACE = 0.02


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", type=Path, help="a recorded stream (.sse, .jsonl, .bin), or its sidecar (.json)")
    parser.add_argument("--provider", choices=STREAMING, help="whose form the stream has, where no sidecar says it")
    parser.add_argument("--pace", type=float, default=None, metavar="SECONDS", help="between events of the stream")


def run(options: argparse.Namespace) -> int:
    """The command."""
    recorded = load(options.file, options.provider)
    screen = Screen()
    pause = options.pace if options.pace is not None else PACE if screen.live else 0.0
    screen.scene(recorded.title, "", recorded.origin)
    tools = _tools(recorded, screen)
    try:
        asyncio.run(watch(screen, recorded, tools, pause=max(pause, 0.0)))
    except DecodeError as error:
        raise CommandError(f"{recorded.path}: {error}", INVALID) from error
    return 0


def _tools(recorded: Recorded, screen: Screen) -> dict[str, AnyTool]:
    schemas: dict[str, Any] = {call["name"]: None for call in recorded.sidecar.get("tool_calls") or ()}
    schemas |= {tool["name"]: tool.get("schema") for tool in recorded.sidecar.get("tools") or ()}
    return {name: _tool(name, schema, screen) for name, schema in schemas.items()}


def _tool(name: str, schema: Any, screen: Screen) -> AnyTool:
    async def give_back(input: Any) -> Any:
        return {"received": input}

    description = f"{name} of the recording"
    try:
        return create_tool(id="recorded", description=description, input_schema=schema, execute=give_back)
    except SchemaError as error:  # a provider's own form of schema, say
        screen.say(f"  {name} takes any arguments: its recorded schema is not JSON Schema ({error})", "note")
        return create_tool(id="recorded", description=description, execute=give_back)
