"""Runs that go on in another process: records, single use, two who answer at once."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolhead.errors import AlreadyResolvedError, NotSuspendedError, RunNotFoundError, ToolNotFoundError
from toolhead.runs import saved
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


DYING = """
import asyncio, os, sys
from toolhead import SQLiteStore, ToolRunner, create_tool

async def main():
    tool = create_tool(id="work", description="d", execute=lambda given: os._exit(7), require_approval=True)
    run = await ToolRunner([tool], store=SQLiteStore(sys.argv[1])).load("r")
    async for _ in run.approve("c0"):
        pass

asyncio.run(main())
"""


async def test_a_call_whose_process_died_while_it_answered_can_be_answered_again(tmp_path: Path, monkeypatch):
    path = tmp_path / "runs.db"
    seen: list[Any] = []
    tool = create_tool(id="work", description="d", execute=seen.append, require_approval=True)
    runner = ToolRunner([tool], store=SQLiteStore(path))
    run = runner.run(run_id="r")
    delta = {"tool_calls": [{"index": 0, "id": "c0", "function": {"name": "work", "arguments": "{}"}}]}
    step = [{"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}]
    assert [chunk.type async for chunk in run.step(step, provider="openai-chat")][-1] == "tool-call-approval"
    died = subprocess.run([sys.executable, "-c", DYING, str(path)], timeout=60, check=False)  # noqa: ASYNC221
    assert died.returncode == 7
    held = await runner.load("r")
    assert held.pending == ()
    with pytest.raises(AlreadyResolvedError):
        [chunk async for chunk in held.approve("c0")]
    with monkeypatch.context() as later:
        later.setattr(saved, "time", SimpleNamespace(time=lambda: time.time() + saved.LEASE))
        free = [await runner.load("r"), await runner.load("r")]
    assert [pending.kind for pending in free[0].pending] == ["approval"]

    async def approve(run: Any) -> Any:
        return [chunk.type async for chunk in run.approve("c0")]

    answers = await asyncio.gather(*map(approve, free), return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == ["AlreadyResolvedError", "list"]
    assert (len(seen), (await runner.load("r")).results[0].status) == (1, "ok")


def slow(seconds: float, seen: list[Any]) -> Any:
    async def execute(input: Any) -> Any:
        seen.append(input)
        await asyncio.sleep(seconds)
        return {"seen": len(seen)}

    return create_tool(id="slow", description="d", execute=execute, require_approval=True)


async def asked(runner: ToolRunner) -> Any:
    run = runner.run(run_id="r")
    await taken(run.step([call(0, "slow", {}), END], provider="openai-chat"))
    return run


async def test_a_claim_holds_as_long_as_the_answer_is_worked_on(store: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(saved, "LEASE", 1.0)
    runner = ToolRunner([slow(1.6, [])], store=store)
    run = await asked(runner)
    answer = asyncio.ensure_future(taken(run.approve("c0")))
    for _ in range(14):
        await asyncio.sleep(0.1)
        loaded = await runner.load("r")
        with pytest.raises(AlreadyResolvedError):
            await taken(loaded.approve("c0"))
    await answer
    assert (run.results[0].status, (await runner.load("r")).results[0].status) == ("ok", "ok")


async def test_whoever_stood_still_while_its_claim_ran_out_is_told(store: Any, monkeypatch: pytest.MonkeyPatch):
    seen: list[Any] = []
    runner = ToolRunner([slow(0.2, seen)], store=store)
    run = await asked(runner)
    first = asyncio.ensure_future(taken(run.approve("c0")))
    while not seen:
        await asyncio.sleep(0.01)
    with monkeypatch.context() as later:
        later.setattr(saved, "time", SimpleNamespace(time=lambda: time.time() + 2 * saved.LEASE))
        other = await runner.load("r")
    await taken(other.approve("c0"))
    with pytest.raises(AlreadyResolvedError, match="elsewhere"):
        await first
    assert (await runner.load("r")).results[0].output == {"seen": 2}


async def test_an_answer_to_changed_arguments_leaves_the_call_to_be_answered(store: Any):
    runner = ToolRunner([slow(0, [])], store=store)
    run = await asked(runner)
    run._state.by_id["c0"].record.digest = "another"
    with pytest.raises(NotSuspendedError):
        await taken(run.approve("c0"))
    assert await taken((await runner.load("r")).approve("c0"))
