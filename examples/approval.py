"""A call that a person has to approve: asked in one request, answered in another, by way of a store."""

import asyncio
import tempfile
from pathlib import Path

from toolhead import SQLiteStore, ToolExecutionContext, ToolRunner, create_tool

CALL = {
    "type": "message",
    "content": [{"type": "tool_use", "id": "call_1", "name": "delete_file", "input": {"path": "old.txt"}}],
    "stop_reason": "tool_use",
}


async def delete_file(input: dict, context: ToolExecutionContext) -> str:
    """Runs only after somebody said yes."""
    return f"{input['path']} deleted for {context.request_context.get('user')}"


delete = create_tool(
    id="delete_file",
    description="Deletes a file",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    execute=delete_file,
    require_approval=True,
)


async def first_request(path: Path) -> str:
    """The model calls; the call waits."""
    run = ToolRunner([delete], store=SQLiteStore(path)).run(request_context={"user": "ada"})
    async for chunk in run.step(CALL, provider="anthropic"):
        print(chunk.type)
    print("waits:", run.pending[0].to_dict())
    return run.id


async def second_request(path: Path, run_id: str) -> None:
    """Somebody says yes, perhaps days later and in another process."""
    runner = ToolRunner([delete], store=SQLiteStore(path))
    run = await runner.load(run_id, request_context={"user": "ada"})
    async for chunk in run.approve("call_1"):
        print(chunk.type)
    print(run.messages()[-1])


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "runs.db"
    run_id = asyncio.run(first_request(file))
    asyncio.run(second_request(file, run_id))
