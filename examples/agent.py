"""An agent: a model, its tools and the loop between them; a call that somebody has to approve ends the first request.

The model is scripted, so that the example runs without network. In its place, with the SDK's asynchronous client:
`OpenAIChat(client, name)`, `OpenAIResponses(client, name)`, `Anthropic(client, name)` or `Gemini(client, name)`.
"""

import asyncio
import tempfile
from pathlib import Path

from toolhead import Agent, SQLiteStore, create_tool
from toolhead.testing import ScriptedCall, ScriptedModel

ORDER = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}

look_up = create_tool(
    id="look_up",
    description="What is known of an order",
    input_schema=ORDER,
    execute=lambda given: {"order": given["order"], "paid": 20},
)
refund = create_tool(
    id="refund",
    description="Pays the money for an order back",
    input_schema=ORDER,
    execute=lambda given: f"order {given['order']} is refunded",
    require_approval=True,
)


def agent(store: SQLiteStore, *turns: object) -> Agent:
    """The service's agent, as each of its processes makes it."""
    return Agent(ScriptedModel(*turns), [look_up, refund], instructions="Help with orders.", store=store)


async def first_request(path: Path) -> str:
    """The customer asks; the turn ends where a person has to say yes."""
    store = SQLiteStore(path)
    look, pay = ScriptedCall("look_up", {"order": 7}), ScriptedCall("refund", {"order": 7})
    turn = agent(store, look, ["You paid 20.", pay]).stream("I want my money back for order 7.")
    async for chunk in turn:
        if chunk.type in ("tool-result", "text-delta", "tool-call-approval"):
            print(chunk.to_dict()["payload"])
    print(turn.result.finish_reason)
    store.close()
    return turn.run_id


async def second_request(path: Path, run_id: str) -> None:
    """Somebody says yes, perhaps days later and in another process; the turn goes on to its end."""
    store = SQLiteStore(path)
    result = await agent(store, "Your money is on its way.").approve_tool_call(run_id)
    print(result.text)
    for message in result.messages:
        print(message)
    store.close()


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "turns.db"
    asyncio.run(second_request(file, asyncio.run(first_request(file))))
