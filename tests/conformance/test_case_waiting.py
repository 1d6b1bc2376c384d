"""Public reports about calls that wait for somebody: approval, suspension, answers, in this process and in others."""

import asyncio
import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.case_tools import call, end, step, taken, tool_of
from toolhead import (
    AlreadyResolvedError,
    MemoryStore,
    NotSuspendedError,
    RequestContext,
    SQLiteStore,
    ToolRunner,
    ToolSuspended,
    ValidationError,
    create_tool,
)
from toolhead.suspend import suspend


def asking(context: Any, payload: Any) -> Any:
    """What a body answers when it was resumed; else it suspends with `payload`."""
    if context.resume_data is None:
        context.suspend(payload)
    return context.resume_data


# --------------------------------------------------------------------------------- several that wait

ANSWERER = """
import asyncio, json, sys
sys.path.insert(0, {folder!r})
from conformance.test_case_waiting import two_tools
from toolhead import SQLiteStore, ToolRunner

async def main():
    tools = two_tools(json.loads({setup!r}))
    run = await ToolRunner(tools, store=SQLiteStore({path!r})).load({run_id!r})
    async for chunk in run.resume("c1", {{"size": 3}}):
        pass
    waiting = [(call.tool_call_id, call.payload) for call in run.pending]
    async for chunk in run.resume("c0", {{"ok": False}}):
        pass
    print(json.dumps([waiting, [[result.tool_name, result.output] for result in run.results]]))

asyncio.run(main())
"""


def two_tools(setup: list[dict[str, Any]]) -> list[Any]:
    """The tools of the case: each suspends, and answers with the data that it was resumed with."""
    return [
        create_tool(
            id=one["id"],
            description="d",
            resume_schema=one["resume_schema"],
            execute=lambda _, context: asking(context, {"asks": context.tool_call_id}),
        )
        for one in setup
    ]


@pytest.mark.ids("pr-173")
async def test_a_resume_touches_only_its_own_call(case: dict[str, Any], tmp_path: Path) -> None:
    setup, path = case["setup"]["tools"], tmp_path / "runs.db"
    run = ToolRunner(two_tools(setup), store=SQLiteStore(path)).run()
    await step(run, call(0, {}, name="a"), call(1, {}, name="b"), end())
    assert [pending.tool_call_id for pending in run.pending] == ["c0", "c1"]
    code = ANSWERER.format(
        folder=str(Path(__file__).parents[1]), setup=json.dumps(setup), path=str(path), run_id=run.id
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    waiting, results = json.loads(done.stdout)
    assert waiting == [["c0", {"asks": "c0"}]]
    assert results == [["a", {"ok": False}], ["b", {"size": 3}]]


@pytest.mark.ids("pr-176")
async def test_pending_approvals_are_answered_in_any_order(case: dict[str, Any]) -> None:
    first, seen_first = tool_of(case, id="first", require_approval=True)
    second, seen_second = tool_of(case, id="second", require_approval=True)
    run = ToolRunner([first, second]).run()
    await step(run, call(0, {"n": 0}, name="first"), call(1, {"n": 1}, name="second"), end())
    assert [pending.tool_call_id for pending in run.pending] == ["c0", "c1"]
    await taken(run.approve("c1"))
    assert [pending.tool_call_id for pending in run.pending] == ["c0"]
    await taken(run.decline("c0"))
    assert (seen_first, seen_second) == ([], [{"n": 1}])
    assert [(result.tool_call_id, result.status) for result in run.results] == [("c0", "denied"), ("c1", "ok")]
    assert [message["tool_call_id"] for message in run.messages()[1:]] == ["c0", "c1"]


@pytest.mark.ids("pr-178")
async def test_a_late_click_answers_nothing(case: dict[str, Any]) -> None:
    tool, seen = tool_of(case)
    run = ToolRunner([tool]).run()
    await step(run, call(1, {}), end())
    await taken(run.decline("c1"))
    await step(run, call(2, {}), end())
    with pytest.raises(AlreadyResolvedError, match="answered before"):
        run.approve("c1")
    with pytest.raises(NotSuspendedError):
        run.approve("c9")
    assert [pending.tool_call_id for pending in run.pending] == ["c2"]
    assert seen == []


@pytest.mark.ids("pr-180")
@pytest.mark.parametrize("is_loaded", [False, True])
async def test_of_two_approvals_at_once_one_counts(case: dict[str, Any], is_loaded: bool) -> None:
    tool, seen = tool_of(case)
    runner = ToolRunner([tool], store=MemoryStore())
    run = runner.run()
    await step(run, call(1, {}), end())
    others = [await runner.load(run.id), await runner.load(run.id)] if is_loaded else [run, run]
    answers = await asyncio.gather(*(taken(other.approve("c1")) for other in others), return_exceptions=True)
    assert seen == [{}]
    assert [type(answer) for answer in answers if isinstance(answer, Exception)] == [AlreadyResolvedError]


@pytest.mark.ids("pr-184")
async def test_an_answer_without_an_id_is_refused_with_the_ids(case: dict[str, Any]) -> None:
    tool, seen = tool_of(case, lambda _, context: asking(context, "?"))
    run = ToolRunner([tool]).run()
    await step(run, call(0, {}), call(1, {}), end())
    with pytest.raises(NotSuspendedError, match="c0, c1"):
        run.resume(None, {"ok": True})
    with pytest.raises(TypeError, match="tool_call_id|data"):
        run.resume({"ok": True})
    assert len(run.pending) == 2
    assert seen == [{}, {}]


# ------------------------------------------------------------------------------------------ one suspension


@pytest.mark.ids("pr-175")
async def test_a_suspension_is_no_output(case: dict[str, Any]) -> None:
    tool, _ = tool_of(case, lambda _, context: context.suspend({}))
    run = ToolRunner([tool]).run()
    chunks = await step(run, call(0, {}), end())
    assert [pending.kind for pending in run.pending] == ["suspended"]
    assert run.results == ()
    assert {"tool-error", "tool-result"}.isdisjoint(chunk.type for chunk in chunks)


@pytest.mark.ids("pr-182")
async def test_each_resume_uses_the_data_it_was_given(case: dict[str, Any], tmp_path: Path) -> None:
    given: list[Any] = []
    tool, _ = tool_of(case, lambda _, context: given.append(asking(context, "?")))
    path = tmp_path / "runs.db"
    run = ToolRunner([tool], store=SQLiteStore(path)).run()
    await step(run, call(0, {}), end())
    shutil.copytree(tmp_path, copies := tmp_path.with_name("copies"))
    for file, data in ((path, 1), (copies / "runs.db", 2)):
        loaded = await ToolRunner([tool], store=SQLiteStore(file)).load(run.id)
        await taken(loaded.resume("c0", data))
    assert given == [1, 2]
    again = await ToolRunner([tool], store=SQLiteStore(path)).load(run.id)
    with pytest.raises(AlreadyResolvedError):
        again.resume("c0", 2)
    assert given == [1, 2]


@pytest.mark.ids("pr-183")
async def test_an_answer_is_for_one_suspension(case: dict[str, Any]) -> None:
    seen: list[Any] = []

    def execute(_: Any, context: Any) -> Any:
        seen.append((context.resume_data, context.suspend_payload))
        if len(seen) < 3:
            context.suspend({"question": len(seen)})
        return context.resume_data

    tool, _ = tool_of(case, execute)
    runner = ToolRunner([tool], store=MemoryStore())
    run = runner.run()
    await step(run, call(0, {}), end())
    await taken(run.resume("c0", "x"))
    assert [pending.payload for pending in run.pending] == [{"question": 2}]
    loaded = await runner.load(run.id)
    assert [pending.payload for pending in loaded.pending] == [{"question": 2}]
    await taken(loaded.resume("c0", "y"))
    assert seen == [(None, None), ("x", {"question": 1}), ("y", {"question": 2})]
    assert loaded.results[0].output == "y"


class Asking:
    """A schema source whose check asks a person the first time."""

    vendor, version = "cases", 1

    def __init__(self) -> None:
        self.__standard_schema__ = self
        self.asked = 0

    def json_schema(self, mode: str = "input") -> dict[str, Any]:
        return {"type": "object"}

    def validate(self, value: Any) -> Any:
        self.asked += 1
        if self.asked == 1:
            suspend({"may": "I?"})
        return value


def asks_first(_: Any, context: Any) -> bool:
    asking(context, {"may": "I?"})
    return False


@pytest.mark.ids("pr-186")
@pytest.mark.parametrize("option", ["input_schema", "require_approval", "request_context_schema", "output_schema"])
async def test_a_question_from_anywhere_in_the_call_path_makes_the_call_wait(case: dict[str, Any], option: str) -> None:
    available: list[Any] = []
    asks = asks_first if option == "require_approval" else Asking()
    tool, _ = tool_of(
        case, lambda *_: {}, on_input_available=lambda event: available.append(event.input), **{option: asks}
    )
    runner = ToolRunner([tool, tool_of(case, id="other")[0]], store=MemoryStore())
    run = runner.run()
    await step(run, call(0, {}), call(1, {}, name="other"), end())
    assert [(pending.tool_call_id, pending.payload) for pending in run.pending] == [("c0", {"may": "I?"})]
    assert [(result.tool_call_id, result.status) for result in run.results] == [("c1", "ok")]
    loaded = await runner.load(run.id)
    await taken(loaded.resume("c0", {"yes": True}))
    assert [result.status for result in loaded.results] == ["ok", "ok"]
    assert available == [{}]


@pytest.mark.ids("pr-186")
@pytest.mark.parametrize("option", ["input_schema", "request_context_schema", "output_schema"])
async def test_such_a_question_makes_a_direct_call_suspend(case: dict[str, Any], option: str) -> None:
    for call_it in ("execute", "execute_json", "execute_sync", "execute_json_sync"):
        for execute in (lambda _: {}, _answers):
            tool = create_tool(id="t", description="d", execute=execute, run_sync_in="inline", **{option: Asking()})
            given = "{}" if "json" in call_it else {}
            with pytest.raises(ToolSuspended) as raised:
                await _outcome(getattr(tool, call_it), given)
            assert raised.value.payload == {"may": "I?"}


async def _outcome(method: Any, given: Any) -> Any:
    outcome = await asyncio.to_thread(method, given)  # a sync form runs an async body in a loop of its own
    return await outcome if inspect.isawaitable(outcome) else outcome


async def _answers(_: Any) -> dict[str, Any]:
    return {}


@pytest.mark.ids("pr-186")
async def test_an_answer_to_such_a_question_is_no_approval(case: dict[str, Any]) -> None:
    tool, seen = tool_of(case, input_schema=Asking(), require_approval=True)
    run = ToolRunner([tool]).run()
    await step(run, call(0, {}), end())
    await taken(run.resume("c0", True))
    assert [pending.kind for pending in run.pending] == ["approval"]
    assert seen == []
    await taken(run.approve("c0"))
    assert (seen, run.results[0].status) == ([{}], "ok")


@pytest.mark.ids("pr-187")
async def test_a_resumed_body_sees_what_it_suspended_with(case: dict[str, Any]) -> None:
    payloads: list[Any] = []

    def execute(_: Any, context: Any) -> None:
        payloads.append((context.suspend_payload, context.agent.suspend_payload))
        asking(context, {"q": 1})

    tool, _ = tool_of(case, execute)
    runner = ToolRunner([tool], store=MemoryStore())
    run = runner.run()
    await step(run, call(0, {}), end())
    await taken((await runner.load(run.id)).resume("c0", "go"))
    assert payloads == [(None, None), ({"q": 1}, {"q": 1})]


@pytest.mark.ids("pr-190")
async def test_a_request_context_of_any_content_does_not_hinder_saving(case: dict[str, Any], tmp_path: Path) -> None:
    cyclic: dict[str, Any] = {}
    cyclic["me"] = cyclic
    given = RequestContext({"function": print, "cyclic": cyclic, "user": "u1"})
    users: list[Any] = []

    def execute(_: Any, context: Any) -> None:
        users.append(context.request_context.get("user"))
        asking(context, {})

    tool, _ = tool_of(case, execute, request_context_schema={"type": "object", "required": ["user"]})
    runner = ToolRunner([tool], store=SQLiteStore(tmp_path / "runs.db"))
    run = runner.run(request_context=given)
    await step(run, call(0, {}), end())
    assert [pending.kind for pending in run.pending] == ["suspended"]
    # It is never stored: who resumes supplies it, and it is validated again.
    assert b"u1" not in (tmp_path / "runs.db").read_bytes()
    bare = await runner.load(run.id)
    await taken(bare.resume("c0", "go"))
    assert isinstance(bare.results[0].error, ValidationError)
    assert bare.results[0].error.phase == "request_context"
    assert users == ["u1"]
    # What of it can be sent anywhere, and what is left out:
    assert given.to_json() == {"user": "u1"}
    assert given.keys() - given.to_json().keys() == {"function", "cyclic"}
