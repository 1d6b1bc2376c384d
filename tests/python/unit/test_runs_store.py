"""Runs that go on in another process: records, single use, two who answer at once."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolhead.errors import AlreadyResolvedError, NotSuspendedError, RunNotFoundError, ToolNotFoundError
from toolhead.runs.runner import ToolRunner
from toolhead.runs.store import MemoryStore, SQLiteStore
from toolhead.tool import create_tool

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def call(index: int, name: str, args: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(args)}
    return {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]}}]
    }


async def count(input: dict[str, Any]) -> dict[str, Any]:
    return {"n": input["n"] + 1}


async def ask(input: dict[str, Any], context: Any) -> dict[str, Any]:
    if context.resume_data is None:
        context.suspend({"question": input["n"]})
    return {"answer": context.resume_data, "who": context.request_context.get("user")}


COUNT = create_tool(id="count", description="Counts", input_schema=NUMBER, execute=count, require_approval=True)
ASK = create_tool(id="ask", description="Asks", input_schema=NUMBER, execute=ask)
FREE = create_tool(id="free", description="Counts", input_schema=NUMBER, execute=count)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        yield MemoryStore()
    else:
        kept = SQLiteStore(tmp_path / "runs.db")
        yield kept
        kept.close()


async def taken(chunks: Any) -> list[Any]:
    return [chunk async for chunk in chunks]


async def begun(store: Any, *calls: dict[str, Any]) -> tuple[ToolRunner, str]:
    runner = ToolRunner([COUNT, ASK, FREE], store=store)
    run = runner.run()
    await taken(run.step([*calls, END], provider="openai-chat"))
    return runner, run.id


async def test_the_store_writes_by_compare_and_swap(store: Any):
    assert await store.read("r") == {}
    assert await store.write("r", "a", b"1", expected=0)
    assert not await store.write("r", "a", b"2", expected=0)
    assert await store.write("r", "a", b"2", expected=1)
    assert not await store.write("r", "a", b"3", expected=1)
    assert not await store.write("r", "b", b"3", expected=1)
    assert {key: tuple(stored) for key, stored in (await store.read("r")).items()} == {"a": (2, b"2")}
    await store.delete("r")
    assert await store.read("r") == {}


async def test_of_many_writers_one_wins(store: Any):
    await store.write("r", "a", b"0", expected=0)
    wins = await asyncio.gather(*(store.write("r", "a", str(n).encode(), expected=1) for n in range(20)))
    assert wins.count(True) == 1


async def test_a_run_goes_on_where_it_was_loaded(store: Any):
    runner, run_id = await begun(store, call(0, "count", {"n": 1}), call(1, "ask", {"n": 2}), call(2, "free", {"n": 3}))
    run = await runner.load(run_id, request_context={"user": "ada"})
    assert [(pending.tool_call_id, pending.kind, pending.args) for pending in run.pending] == [
        ("c0", "approval", {"n": 1}),
        ("c1", "suspended", {"n": 2}),
    ]
    assert run.pending[1].payload == {"question": 2}
    assert [result.output for result in run.results] == [{"n": 4}]
    await taken(run.approve("c0"))
    again = await runner.load(run_id, request_context={"user": "bob"})
    assert [pending.tool_call_id for pending in again.pending] == ["c1"]
    await taken(again.resume("c1", "yes"))
    last = await runner.load(run_id)
    assert last.status == "done"
    contents = [message["content"] for message in last.messages()[1:]]
    assert [json.loads(content) for content in contents] == [{"n": 2}, {"answer": "yes", "who": "bob"}, {"n": 4}]
    states = [part["toolInvocation"]["state"] for part in last.transcript()[0]["parts"]]
    assert states == ["result"] * 3


async def test_of_two_who_answer_at_once_one_wins_and_the_other_is_told(store: Any):
    runner, run_id = await begun(store, call(0, "count", {"n": 1}))
    first, second = await runner.load(run_id), await runner.load(run_id)
    answers = await asyncio.gather(
        taken(first.approve("c0")), taken(second.decline("c0", "no")), return_exceptions=True
    )
    assert sorted(type(answer) for answer in answers if isinstance(answer, Exception)) == [AlreadyResolvedError]
    final = await runner.load(run_id)
    assert len(final.results) == 1
    assert final.status == "done"
    with pytest.raises(AlreadyResolvedError):
        final.approve("c0")


async def test_an_answer_is_bound_to_the_arguments_that_were_asked_about(store: Any):
    runner, run_id = await begun(store, call(0, "count", {"n": 1}))
    stored = (await store.read(run_id))["c0"]
    record = json.loads(stored.data)
    record["args_text"] = '{"n": 1000}'
    await store.write(run_id, "c0", json.dumps(record).encode(), expected=stored.version)
    run = await runner.load(run_id)
    with pytest.raises(NotSuspendedError, match="not those"):
        await taken(run.approve("c0"))


async def test_what_is_not_stored_is_not_found(store: Any):
    runner, run_id = await begun(store, call(0, "count", {"n": 1}))
    with pytest.raises(RunNotFoundError):
        await runner.load("nobody")
    with pytest.raises(ToolNotFoundError, match="count"):
        await ToolRunner([FREE], store=store).load(run_id)
    with pytest.raises(RuntimeError, match="store"):
        await ToolRunner([FREE]).load(run_id)
    with pytest.raises(TypeError, match="store"):
        ToolRunner([FREE], store="file.db")  # type: ignore[arg-type]


OTHER = """
import asyncio, sys
sys.path.insert(0, {folder!r})
import {module} as tools
from toolhead.runs.runner import ToolRunner
from toolhead.runs.store import SQLiteStore

async def main():
    runner = ToolRunner([tools.COUNT, tools.ASK, tools.FREE], store=SQLiteStore({path!r}))
    run = await runner.load({run_id!r})
    async for chunk in run.approve("c0"):
        print(chunk.type)

asyncio.run(main())
"""


async def test_another_process_answers(tmp_path: Path):
    path = tmp_path / "runs.db"
    runner, run_id = await begun(SQLiteStore(path), call(0, "count", {"n": 1}))
    here = Path(__file__)
    code = OTHER.format(folder=str(here.parent), module=here.stem, path=str(path), run_id=run_id)
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["tool-result", "step-finish"], done.stderr
    run = await runner.load(run_id)
    assert run.messages()[1]["content"] == '{"n": 2}'


async def test_an_answer_to_a_call_that_somebody_else_is_answering_comes_too_late(store: Any):
    gate = asyncio.Event()

    async def execute(given: Any) -> Any:
        await gate.wait()
        return given

    tool = create_tool(id="t", description="d", execute=execute, require_approval=True)
    runner = ToolRunner([tool], store=store)
    run = runner.run()
    await taken(run.step([call(0, "t", {"n": 1}), END], provider="openai-chat"))
    answer = asyncio.ensure_future(taken(run.approve("c0")))
    await asyncio.sleep(0.01)
    late = await runner.load(run.id)
    with pytest.raises(AlreadyResolvedError):
        await taken(late.approve("c0"))
    gate.set()
    await answer
