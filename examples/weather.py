"""A tool from a plain JSON Schema: called rightly, called wrongly, and called with the model's own text."""

import asyncio

from toolhead import ToolExecutionContext, ValidationError, create_tool


async def forecast(input: dict, context: ToolExecutionContext) -> dict:
    """What the tool does, with arguments that its schema has accepted."""
    return {"place": input["place"], "days": input["days"], "for": context.request_context.get("user", "anybody")}


weather = create_tool(
    id="weather",
    description="The weather at a place for the next days",
    input_schema={
        "type": "object",
        "properties": {
            "place": {"type": "string", "minLength": 1},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        },
        "required": ["place"],
        "additionalProperties": False,
    },
    output_schema={"type": "object", "required": ["place", "days"]},
    execute=forecast,
)


async def main() -> None:
    """Three calls."""
    print(await weather.execute({"place": "Lima"}, {"request_context": {"user": "Ada"}}))
    print(await weather.execute_json('{"place": "Oslo", "days": 2}'))

    refused = await weather.execute({"place": "", "days": "two"})
    if isinstance(refused, ValidationError):
        print(refused)
        for issue in refused.issues:
            print(f"{issue.pointer}: {issue.keyword}")


asyncio.run(main())
