"""One result, three readers: the body's caller gets it whole, the model a sentence, a user's display a part of it."""

import asyncio

from toolhead import ToolRunner, create_tool

CALL = {
    "choices": [
        {
            "message": {
                "tool_calls": [
                    {
                        "id": "call_1",
                        "function": {"name": "find_customer", "arguments": '{"name": "Ada", "token": "t-1"}'},
                    }
                ]
            },
            "finish_reason": "tool_calls",
        }
    ]
}


async def find_customer(input: dict) -> dict:
    """Knows more than anybody needs to see."""
    return {"name": input["name"], "balance": 12.5, "card": "4000-0000-0000-0002"}


tool = create_tool(
    id="find_customer",
    description="Finds a customer",
    input_schema={
        "type": "object",
        "properties": {"name": {"type": "string"}, "token": {"type": "string"}},
        "required": ["name", "token"],
    },
    execute=find_customer,
    to_model_output=lambda output: {"type": "text", "value": f"{output['name']} has {output['balance']} credits."},
    transform={
        "display": {
            "input": lambda event: {"name": event.input["name"]},
            "output": lambda event: {"name": event.output["name"]},
        }
    },
)


async def main() -> None:
    """The same result, seen three times."""
    run = ToolRunner([tool]).run()
    async for chunk in run.step(CALL, provider="openai-chat"):
        if chunk.type == "tool-result":
            print("service:", chunk.result)
            print("display:", chunk.to_dict()["payload"])
    print("model:  ", run.messages()[-1]["content"])


asyncio.run(main())
