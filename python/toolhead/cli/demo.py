"""`toolhead demo`: recorded streams of real models go through a runner into real tools."""

from __future__ import annotations

import asyncio
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, NamedTuple

from toolhead.cli.recorded import load
from toolhead.cli.screen import Screen
from toolhead.cli.watch import watch
from toolhead.tool import create_tool

if TYPE_CHECKING:
    import argparse

    from toolhead.runs.toolset import AnyTool

SUMMARY = "play recorded model streams through real tools"
EXAMPLES = """examples:
  toolhead demo               live in a terminal, plain lines elsewhere
  toolhead demo --pace 0.2    slower
  toolhead demo | less"""

PACE = 0.04


class Scene(NamedTuple):
    """One recorded response, the tools that answer it, and what to look at."""

    stream: str
    note: str
    tools: dict[str, AnyTool]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--pace", type=float, default=None, metavar="SECONDS", help="between events of a stream")


def run(options: argparse.Namespace) -> int:
    """The command."""
    screen = Screen()
    pause = options.pace if options.pace is not None else PACE if screen.live else 0.0
    asyncio.run(_play(screen, max(pause, 0.0)))
    return 0


async def _play(screen: Screen, pause: float) -> None:
    with as_file(files("toolhead") / "data" / "streams") as folder:
        for scene in scenes():
            recorded = load(folder / scene.stream)
            screen.scene(recorded.title, scene.note, recorded.origin)
            await watch(screen, recorded, scene.tools, pause=pause)
    screen.say("Every call has had exactly one result. `toolhead replay FILE` plays any recorded stream.", "label")


# --------------------------------------------------------------------------------------------- the tools

DEGREES = {"Mexico City": 19.5, "Oslo": 4.0}
RATES = {("USD", "EUR"): 0.92}
BOOKS = {"978-0-7653-1178-8": {"title": "Mistborn: The Final Empire", "pages": 544}}
SECRETS = {"mellon": "Welcome to Moria!", "radiance": "Life before Death"}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"], "default": "celsius"}},
    "required": ["city"],
    "additionalProperties": False,
}


async def weather(input: dict[str, Any]) -> dict[str, Any]:
    """A body: the input is valid and has its defaults."""
    return {"city": input["city"], "degrees": DEGREES.get(input["city"]), "unit": input["unit"]}


def product_name(_: dict[str, Any]) -> dict[str, Any]:
    """A body with a fault: its output schema wants text."""
    return {"name": 42}


async def exchange_rate(input: dict[str, Any]) -> dict[str, Any]:
    """A body that a model of another provider calls."""
    return {"rate": RATES[input["from_currency"], input["to_currency"]]}


async def book_info(input: dict[str, Any]) -> dict[str, Any]:
    """A body that is not reached when the model's ISBN is of the old form."""
    return BOOKS[input["isbn"]]


async def secret(input: dict[str, Any]) -> dict[str, Any]:
    """A body whose input and output are nobody's business but the model's."""
    return {"secret": SECRETS[input["password"]], "source": "vault-7"}


async def write(input: dict[str, Any]) -> str:
    """A body that must never see half a file."""
    return f"{len(input['text'])} characters"


def scenes() -> list[Scene]:
    """The programme."""
    return [
        Scene(
            "openai--openai-chat--015.sse",
            "Two calls at once. The first gets its default filled in; the second breaks its own output schema.",
            {
                "get_weather": create_tool(
                    id="get_weather", description="The weather in a city", input_schema=CITY, execute=weather
                ),
                "get_product_name": create_tool(
                    id="get_product_name",
                    description="The name of the product",
                    input_schema={"type": "object"},
                    output_schema={
                        "type": "object",
                        "properties": {"name": {"type": "string"}},
                        "required": ["name"],
                    },
                    execute=product_name,
                ),
            },
        ),
        Scene(
            "openai--openai-chat--010.sse",
            "The model writes an ISBN of the old form; the tool's schema wants 13 digits.",
            {
                "get_book_info": create_tool(
                    id="get_book_info",
                    description="Title and pages of a book",
                    input_schema={
                        "type": "object",
                        "properties": {"isbn": {"type": "string", "pattern": "^97[89]-([0-9]+-){3}[0-9]$"}},
                        "required": ["isbn"],
                    },
                    execute=book_info,
                )
            },
        ),
        Scene(
            "anthropic--anthropic-messages--025.sse",
            "The provider runs one call itself: it is shown and left alone. The other one is ours.",
            {
                "get_exchange_rate": create_tool(
                    id="get_exchange_rate",
                    description="What one unit of a currency costs in another",
                    input_schema={
                        "type": "object",
                        "properties": {
                            "from_currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
                            "to_currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
                        },
                        "required": ["from_currency", "to_currency"],
                    },
                    output_schema={"type": "object", "properties": {"rate": {"type": "number", "exclusiveMinimum": 0}}},
                    execute=exchange_rate,
                )
            },
        ),
        Scene(
            "openai--openai-responses--017.sse",
            "What the body gets, what the model is given and what a user's display is given are three things.",
            {
                "secret_retrieval_tool": create_tool(
                    id="secret_retrieval_tool",
                    description="The secret behind a password",
                    input_schema={
                        "type": "object",
                        "properties": {"password": {"type": "string"}},
                        "required": ["password"],
                    },
                    to_model_output=lambda output: {"type": "text", "value": output["secret"]},
                    transform={
                        "display": {
                            "input": lambda event: {"password": "*" * len(event.input["password"])},
                            "output": lambda _: {"found": True},
                        }
                    },
                    execute=secret,
                )
            },
        ),
        Scene(
            "synthetic--anthropic-messages--truncated-escape.sse",
            "The model's answer ends in the middle of a word: half an argument is shown, never executed.",
            {
                "write": create_tool(
                    id="write",
                    description="Writes a file",
                    input_schema={
                        "type": "object",
                        "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
                        "required": ["path", "text"],
                    },
                    execute=write,
                )
            },
        ),
    ]
