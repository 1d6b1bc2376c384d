"""Tasks of a manager: every option of `background` and of `BackgroundManager`, in virtual time."""

import asyncio
import gc
import json
import logging
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from asking_source import Asks
from toolhead import (
    AlreadyResolvedError,
    BackgroundManager,
    BackgroundTask,
    LocalEngine,
    NotSuspendedError,
    ToolAbortedError,
    ToolExecutionError,
    ToolNotExecutableError,
    ToolSuspended,
    ToolTimeoutError,
    ValidationError,
    create_tool,
)
from virtual_time import now, virtual_time

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def made(execute: Any, background: dict[str, Any] | None = None, **options: Any) -> Any:
    given = {"id": "work", "description": "Works", "input_schema": NUMBER, "execute": execute, **options}
    return create_tool(**given, background=None if background is None else {"enabled": True, **background})


def failing(times: int, error: Exception | None = None) -> tuple[Any, list[float]]:
    """A body that raises so often, and when it was entered."""
    entered: list[float] = []

    async def execute(input: Any) -> Any:
        entered.append(now())
        if len(entered) <= times:
            raise error or LookupError("gone")
        return {"n": input["n"]}

    return execute, entered


def sleeping(seconds: float) -> Any:
    async def execute(input: Any) -> Any:
        await asyncio.sleep(seconds)
        return {"n": input["n"]}

    return execute


@virtual_time
async def test_a_task_runs_to_its_output():
    manager = BackgroundManager()
    task = await manager.start(made(sleeping(5)), {"n": 1})
    assert (task.status, now()) == ("pending", 0)
    await asyncio.sleep(0.001)
    assert task.status == "running"
    assert await task.result() == {"n": 1}
    assert (task.status, now()) == ("completed", 5)
    assert await task.result() == {"n": 1}
    again = await manager.get(task.id)
    assert again is not None
    assert await again.result() == {"n": 1}
    assert await manager.get("another") is None


@virtual_time
async def test_the_input_is_validated_before_anything_is_started():
    engine = LocalEngine()
    with pytest.raises(ValidationError) as caught:
        await BackgroundManager(engine).start(made(sleeping(1)), {"n": "x"}, task_id="t")
    assert caught.value.phase == "input"
    assert await engine.state("t") is None
    with pytest.raises(ToolNotExecutableError):
        await BackgroundManager(engine).start(create_tool(id="t", description="d"), {})


@virtual_time
async def test_a_body_sees_that_it_runs_in_the_background():
    seen: list[Any] = []

    async def execute(input: Any, context: Any) -> None:
        seen.append((context.agent.is_background_task, context.agent.agent_id, context.request_context.get("user")))
        seen.append((context.idempotency_key, context.abort_signal.aborted))

    context = {"request_context": {"user": "ada"}, "idempotency_key": "k"}
    task = await BackgroundManager().start(made(execute), {"n": 1}, context, agent_id="a")
    await task.result()
    assert seen == [(True, "a", "ada"), ("k", False)]


@virtual_time
async def test_the_same_id_is_the_same_task():
    execute, entered = failing(0)
    manager = BackgroundManager()
    first = await manager.start(made(execute), {"n": 1}, task_id="t")
    second = await manager.start(made(execute), {"n": 2}, task_id="t")
    assert await second.result() == await first.result() == {"n": 1}
    third = await manager.start(made(execute), {"n": 3}, task_id="t")
    assert await third.result() == {"n": 1}
    assert len(entered) == 1


# ------------------------------------------------------------------------------------ timeout and retries


@pytest.mark.parametrize("own", [True, False])
@virtual_time
async def test_a_timeout_ends_the_task(own: bool):
    failed: list[Any] = []
    signals: list[Any] = []

    async def execute(input: Any, context: Any) -> Any:
        try:
            await asyncio.sleep(100)
        finally:
            signals.append(context.abort_signal.reason)

    manager = BackgroundManager(timeout=None if own else 2.5, on_failed=failed.append)
    task = await manager.start(made(execute, {"timeout": 2.5} if own else {}), {"n": 1})
    with pytest.raises(ToolTimeoutError, match="work.*2.5 seconds"):
        await task.result()
    assert (task.status, now()) == ("timed_out", 2.5)
    assert isinstance(signals[0], ToolTimeoutError)
    await asyncio.sleep(0.001)
    assert failed == [task]


@virtual_time
async def test_a_body_that_does_not_listen_is_left_and_its_late_output_is_dropped():
    async def execute(input: Any) -> Any:
        for _ in range(3):
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                continue
        return {"late": True}

    task = await BackgroundManager().start(made(execute, {"timeout": 1}, grace=0.5), {"n": 1})
    with pytest.raises(ToolTimeoutError):
        await task.result()
    assert (task.status, now()) == ("timed_out", 1.5)
    await asyncio.sleep(60)
    assert (task.status, task.to_dict().get("result")) == ("timed_out", None)


@virtual_time
async def test_a_timeout_is_no_failure_to_retry():
    execute, entered = failing(0)

    async def slow(input: Any) -> Any:
        await execute(input)
        await asyncio.sleep(9)

    task = await BackgroundManager().start(made(slow, {"timeout": 1, "max_retries": 3}), {"n": 1})
    with pytest.raises(ToolTimeoutError):
        await task.result()
    assert (entered, task.to_dict()["retryCount"]) == ([0], 0)


@virtual_time
async def test_the_timeout_counts_retries_and_their_waits():
    execute, entered = failing(9)
    options = {"timeout": 5, "max_retries": 9, "retry_delay": 2, "backoff": 1}
    task = await BackgroundManager().start(made(execute, options), {"n": 1})
    with pytest.raises(ToolTimeoutError):
        await task.result()
    assert (entered, now(), task.status) == ([0, 2, 4], 5, "timed_out")


@virtual_time
async def test_the_time_of_a_body_may_be_over_and_another_attempt_made():
    entered: list[float] = []

    async def execute(input: Any) -> Any:
        entered.append(now())
        await asyncio.sleep(3 if len(entered) == 1 else 0.5)
        return {"n": 1}

    task = await BackgroundManager().start(made(execute, {"max_retries": 1, "retry_delay": 1}, timeout=1), {"n": 1})
    assert await task.result() == {"n": 1}
    assert entered == [0, 2]


@virtual_time
async def test_retries_wait_longer_each_time():
    execute, entered = failing(3)
    task = await BackgroundManager().start(
        made(execute, {"max_retries": 3, "retry_delay": 1.5, "backoff": 2}), {"n": 4}
    )
    assert await task.result() == {"n": 4}
    assert entered == [0, 1.5, 4.5, 10.5]
    assert task.to_dict()["retryCount"] == 3


@virtual_time
async def test_what_a_tool_does_not_say_the_manager_does():
    execute, entered = failing(9)
    manager = BackgroundManager(max_retries=2, retry_delay=3, backoff=1, timeout=7)
    task = await manager.start(made(execute, {}), {"n": 4})
    with pytest.raises(ToolExecutionError, match="gone") as caught:
        await task.result()
    assert isinstance(caught.value.__cause__, LookupError)
    assert (entered, task.status) == ([0, 3, 6], "failed")
    assert (task.to_dict()["maxRetries"], task.to_dict()["timeoutMs"]) == (2, 7000)
    execute, entered = failing(9)
    task = await BackgroundManager().start(made(execute, {}), {"n": 4})
    with pytest.raises(ToolExecutionError):
        await task.result()
    assert len(entered) == 1
    assert task.to_dict()["timeoutMs"] == 300_000


@pytest.mark.parametrize(
    ("retry_on", "attempts"),
    [
        (lambda error: isinstance(error, LookupError), 3),
        (lambda error: isinstance(error, OSError), 1),
        (lambda error: 1 / 0, 1),
        (None, 3),
    ],
)
@virtual_time
async def test_a_tool_decides_which_failures_are_worth_a_retry(retry_on: Any, attempts: int):
    execute, entered = failing(9)
    task = await BackgroundManager().start(made(execute, {"max_retries": 2, "retry_on": retry_on}), {"n": 1})
    with pytest.raises(ToolExecutionError):
        await task.result()
    assert len(entered) == attempts


@pytest.mark.parametrize(("retry_on", "attempts"), [(None, 1), (lambda error: isinstance(error, ValidationError), 3)])
@virtual_time
async def test_an_invalid_output_is_a_failure_that_only_the_tool_calls_worth_a_retry(retry_on: Any, attempts: int):
    entered: list[int] = []

    async def execute(input: Any) -> Any:
        entered.append(1)
        return {"n": "x"}

    tool = made(execute, {"max_retries": 2, "retry_on": retry_on}, output_schema=NUMBER)
    task = await BackgroundManager().start(tool, {"n": 1})
    with pytest.raises(ValidationError) as caught:
        await task.result()
    assert (caught.value.phase, len(entered), task.status) == ("output", attempts, "failed")


# ------------------------------------------------------------------------------------------------ callbacks


@pytest.mark.parametrize("times", [0, 1])
@virtual_time
async def test_callbacks_are_told_once_the_tools_before_the_managers(times: int, caplog: pytest.LogCaptureFixture):
    told: list[Any] = []

    def note(name: str) -> Any:
        async def callback(task: BackgroundTask) -> None:
            await asyncio.sleep(0)
            told.append((name, task.status, task.to_dict().get("result"), task.to_dict().get("error")))

        return callback

    manager = BackgroundManager(on_complete=note("general complete"), on_failed=note("general failed"))
    end = ("completed", {"n": 1}, None) if times == 0 else ("failed", None, "gone")
    name = "complete" if times == 0 else "failed"
    await _ended(await manager.start(made(failing(times)[0], {}), {"n": 1}))
    assert told == [(f"general {name}", *end)]
    own = {"on_complete": note("complete"), "on_failed": note("failed")}
    await _ended(await manager.start(made(failing(times)[0], own), {"n": 1}))
    assert told[1:] == [(name, *end)]

    def broken(task: BackgroundTask) -> None:
        raise RuntimeError("in a callback")

    task = await manager.start(made(failing(times)[0], {"on_complete": broken, "on_failed": broken}), {"n": 1})
    with caplog.at_level(logging.ERROR, "toolhead"):
        await _ended(task)
    assert f"background.on_{name}" in caplog.text
    assert task.status == end[0]


async def _ended(task: BackgroundTask) -> None:
    await asyncio.gather(task.result(), return_exceptions=True)
    await asyncio.sleep(0.01)


# --------------------------------------------------------------------------------------------------- limits


@virtual_time
async def test_so_many_tasks_run_at_once_and_the_others_wait_in_order():
    order: list[int] = []

    async def execute(input: Any) -> None:
        order.append(input["n"])
        await asyncio.sleep(1)

    manager = BackgroundManager(global_concurrency=2)
    tasks = [await manager.start(made(execute), {"n": n}) for n in range(5)]
    await asyncio.sleep(0.5)
    assert [task.status for task in tasks] == ["running", "running", "pending", "pending", "pending"]
    await asyncio.gather(*(task.result() for task in tasks))
    assert (order, now()) == ([0, 1, 2, 3, 4], 3)


@virtual_time
async def test_a_full_agent_holds_back_no_other():
    manager = BackgroundManager(per_agent_concurrency=1, global_concurrency=3)
    tool = made(sleeping(1))
    tasks = [await manager.start(tool, {"n": n}, agent_id=agent) for n, agent in enumerate("aaabb")]
    await asyncio.sleep(0.5)
    assert [task.status for task in tasks] == ["running", "pending", "pending", "running", "pending"]
    await asyncio.gather(*(task.result() for task in tasks))
    assert now() == 3


@virtual_time
async def test_the_default_limits():
    manager = BackgroundManager()
    tasks = [await manager.start(made(sleeping(1)), {"n": 1}, agent_id=agent) for agent in "aaaaaaabbbbbbbccc"]
    await asyncio.sleep(0.5)
    running = [task.state.job.call.agent_id for task in tasks if task.status == "running"]
    assert running == ["a"] * 5 + ["b"] * 5
    await asyncio.gather(*(task.result() for task in tasks))


async def test_a_thread_that_was_left_behind_keeps_its_place():
    go_on = threading.Event()
    engine = LocalEngine()
    manager = BackgroundManager(engine, global_concurrency=1)
    tool = made(lambda _: go_on.wait(5), {"timeout": 0.02})
    first = await manager.start(tool, {"n": 1})
    with pytest.raises(ToolTimeoutError):
        await first.result()
    second = await manager.start(made(failing(0)[0]), {"n": 2})
    await asyncio.sleep(0.02)
    assert second.status == "pending"
    go_on.set()
    assert await second.result() == {"n": 2}
    assert repr(engine) == "LocalEngine(running=0, pending=0)"


# ------------------------------------------------------------------------------- cancel, suspend and resume


@virtual_time
async def test_a_running_task_is_cancelled():
    ends: list[str] = []

    async def execute(input: Any) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ends.append("ended")

    told: list[Any] = []
    manager = BackgroundManager(on_complete=told.append, on_failed=told.append, max_retries=5)
    task = await manager.start(made(execute), {"n": 1})
    await asyncio.sleep(1)
    assert await task.cancel() is True
    assert (task.status, ends, now()) == ("cancelled", ["ended"], 1)
    with pytest.raises(ToolAbortedError):
        await task.result()
    assert await task.cancel() is False
    assert told == []


@virtual_time
async def test_a_task_that_waits_for_its_place_or_for_a_retry_is_cancelled():
    execute, entered = failing(9)
    manager = BackgroundManager(global_concurrency=1)
    first = await manager.start(made(execute, {"max_retries": 3, "retry_delay": 50}), {"n": 1})
    second = await manager.start(made(execute), {"n": 2})
    await asyncio.sleep(1)
    assert (first.status, second.status) == ("running", "pending")
    assert await second.cancel() is True
    assert await first.cancel() is True
    assert (first.status, second.status, entered, now()) == ("cancelled", "cancelled", [0], 1)
    third = await manager.start(made(sleeping(1)), {"n": 3})
    assert await third.result() == {"n": 3}


RESUME = {"type": "object", "properties": {"ok": {"type": "boolean"}, "by": {"default": "x"}}, "required": ["ok"]}


def asking(entered: list[Any], **options: Any) -> Any:
    async def execute(input: Any, context: Any) -> Any:
        entered.append((context.resume_data, context.suspend_payload))
        if context.resume_data is None:
            context.suspend({"question": input["n"]})
        return {"answer": context.resume_data["ok"]}

    return made(execute, {}, resume_schema=RESUME, **options)


@virtual_time
async def test_a_task_suspends_gives_up_its_place_and_is_resumed_by_its_id():
    entered: list[Any] = []
    manager = BackgroundManager(global_concurrency=1, timeout=10)
    task = await manager.start(asking(entered), {"n": 1}, task_id="t")
    with pytest.raises(TimeoutError, match="suspended"):
        await task.result(timeout=60)
    assert (task.status, task.suspend_payload) == ("suspended", {"question": 1})
    assert asyncio.all_tasks() == {asyncio.current_task()}
    other = await manager.start(made(sleeping(1)), {"n": 2})
    assert await other.result() == {"n": 2}
    found = await manager.get("t")
    assert found is not None
    with pytest.raises(ValidationError) as caught:
        await found.resume({"ok": "maybe"})
    assert (caught.value.phase, found.status, len(entered)) == ("resume", "suspended", 1)
    await found.resume({"ok": True})
    assert await task.result() == {"answer": True}
    assert entered == [(None, None), ({"ok": True, "by": "x"}, {"question": 1})]
    with pytest.raises(NotSuspendedError):
        await task.resume({"ok": True})


@virtual_time
async def test_of_two_who_resume_one_is_told():
    entered: list[Any] = []
    task = await BackgroundManager().start(asking(entered), {"n": 1})
    await asyncio.sleep(1)
    answers = await asyncio.gather(task.resume({"ok": True}), task.resume({"ok": False}), return_exceptions=True)
    assert answers[0] is None
    assert isinstance(answers[1], AlreadyResolvedError | NotSuspendedError)
    assert await task.result() == {"answer": True}
    assert len(entered) == 2


@virtual_time
async def test_a_suspended_task_is_cancelled():
    task = await BackgroundManager().start(asking([]), {"n": 1})
    await asyncio.sleep(1)
    assert await task.cancel() is True
    assert task.status == "cancelled"
    with pytest.raises(NotSuspendedError):
        await task.resume({"ok": True})


# ----------------------------------------------------------------------------------------- engine and JSON


@dataclass
class Point:
    x: int


@virtual_time
async def test_an_engine_sees_json_and_the_caller_the_declared_type():
    engine = LocalEngine()

    async def execute(input: Point) -> Point:
        return Point(input.x + 1)

    tool = create_tool(id="p", description="d", input_schema=Point, output_schema=Point, execute=execute)
    task = await BackgroundManager(engine).start(tool, Point(1), task_id="t")
    assert await task.result() == Point(2)
    state = await engine.state("t")
    assert state is not None
    data = json.loads(json.dumps(msgspec.to_builtins(state)))
    assert (data["job"]["call"]["input"], data["result"]) == ({"x": 1}, {"x": 2})
    assert msgspec.convert(data, type(state)) == state


@virtual_time
async def test_what_has_ended_is_forgotten_in_its_time():
    engine = LocalEngine(keep_completed=60, keep_failed=600, clock=now)
    manager = BackgroundManager(engine)
    good = await manager.start(made(failing(0)[0]), {"n": 1})
    bad = await manager.start(made(failing(1)[0]), {"n": 1})
    await _ended(good)
    await _ended(bad)
    for at, known in ((59, [True, True]), (61, [False, True]), (601, [False, False])):
        await asyncio.sleep(at - now())
        assert [await engine.state(task.id) is not None for task in (good, bad)] == known
    assert good.to_dict()["completedAt"] == 0


@virtual_time
async def test_states_are_streamed_until_the_task_rests():
    engine = LocalEngine()
    execute, _ = failing(1)
    task = await BackgroundManager(engine).start(made(execute, {"max_retries": 1}), {"n": 1}, task_id="t")
    seen = [(state.status, state.retry_count) async for state in engine.stream("t")]
    assert seen == [("pending", 0), ("running", 0), ("running", 1), ("completed", 1)]
    await task.result()
    assert await engine.wait("t") == await engine.state("t") == task.state
    with pytest.raises(KeyError):
        await engine.wait("nobody")
    assert await engine.signal("nobody", "cancel") is False


@virtual_time
async def test_nothing_is_kept_of_a_call_that_has_ended():
    manager = BackgroundManager()

    class Kept:
        pass

    thing = Kept()
    gone = weakref.ref(thing)

    async def execute(input: Any, context: Any) -> None:
        context.request_context["thing"]

    task = await manager.start(made(execute), {"n": 1}, {"request_context": {"thing": thing}})
    await task.result()
    await asyncio.sleep(0.01)
    del thing, task, execute
    gc.collect()
    assert gone() is None
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_loop_that_is_closed_cancels_its_tasks():
    engine = LocalEngine()
    failed: list[Any] = []

    async def main() -> BackgroundTask:
        task = await BackgroundManager(engine, on_failed=failed.append).start(made(sleeping(60)), {"n": 1})
        await asyncio.sleep(0.01)
        return task

    task = asyncio.run(main())
    assert task.status == "cancelled"
    assert repr(engine) == "LocalEngine(running=0, pending=0)"


def test_a_task_that_waits_for_its_place_does_not_outlive_its_loop():
    engine = LocalEngine()
    manager = BackgroundManager(engine, global_concurrency=1)
    execute, entered = failing(0)

    async def first() -> BackgroundTask:
        await manager.start(made(sleeping(60)), {"n": 1})
        return await manager.start(made(execute), {"n": 2})

    pending = asyncio.run(first())
    assert pending.status == "cancelled"
    assert repr(engine) == "LocalEngine(running=0, pending=0)"

    async def second() -> None:
        task = await manager.start(made(sleeping(0)), {"n": 3})
        assert await task.result() == {"n": 3}

    asyncio.run(second())
    assert entered == []
    assert repr(engine) == "LocalEngine(running=0, pending=0)"


def test_a_place_that_becomes_free_is_not_given_to_a_loop_that_is_gone():
    engine = LocalEngine()
    manager = BackgroundManager(engine, global_concurrency=1)
    execute, entered = failing(0)
    with asyncio.Runner() as stays:
        running = stays.run(manager.start(made(sleeping(60)), {"n": 1}))
        with asyncio.Runner() as goes:
            pending = goes.run(manager.start(made(execute), {"n": 2}, task_id="t"))
        stays.run(running.cancel())
        assert (pending.status, entered) == ("cancelled", [])
        state = stays.run(engine.state("t"))
        assert state is not None
        assert state.status == "cancelled"


def test_a_suspended_task_is_resumed_in_another_loop():
    entered: list[Any] = []
    manager = BackgroundManager()

    async def first() -> None:
        task = await manager.start(asking(entered), {"n": 1}, task_id="t")
        while task.status != "suspended":
            with pytest.raises(TimeoutError):
                await task.result(timeout=0.01)

    async def second() -> Any:
        task = await manager.get("t")
        assert task is not None
        await task.resume({"ok": True})
        return await task.result()

    asyncio.run(first())
    assert asyncio.run(second()) == {"answer": True}


class JsonEngine(LocalEngine):
    """An engine that keeps nothing but JSON text, as one over a database would."""

    async def start(self, job: Any, work: Any) -> bool:
        return await super().start(self._read(job), lambda attempt: self._worked(work, attempt))

    async def _worked(self, work: Any, attempt: Any) -> Any:
        data = {"state": self._read(attempt.state), "resume_data": json.loads(json.dumps(attempt.resume_data))}
        return self._read(await work(msgspec.structs.replace(attempt, **data)))

    async def signal(self, job_id: str, topic: Any, data: Any = None) -> bool:
        return await super().signal(job_id, topic, json.loads(json.dumps(data)))

    async def state(self, job_id: str) -> Any:
        state = await super().state(job_id)
        return None if state is None else self._read(state)

    async def stream(self, job_id: str) -> Any:
        async for state in super().stream(job_id):
            yield self._read(state)

    def _read(self, thing: Any) -> Any:
        return msgspec.json.decode(json.dumps(msgspec.to_builtins(thing)), type=type(thing))


@virtual_time
async def test_the_protocol_is_all_that_a_manager_needs():
    @dataclass
    class Answer:
        x: int

    seen: list[Any] = []

    async def execute(input: Point, context: Any) -> Point:
        seen.append((input, context.resume_data))
        if context.resume_data is None:
            context.suspend({"at": Point(3)})
        if len(seen) == 2:
            raise LookupError("once")
        return Point(input.x + context.resume_data.x)

    tool = create_tool(
        id="p", description="d", input_schema=Point, output_schema=Point, resume_schema=Answer, execute=execute
    )
    task = await BackgroundManager(JsonEngine(), max_retries=1).start(tool, Point(1))
    await asyncio.sleep(1)
    assert (task.status, task.suspend_payload) == ("suspended", {"at": {"x": 3}})
    await task.resume(Answer(5))
    assert await task.result() == Point(6)
    assert seen == [(Point(1), None), (Point(1), Answer(5)), (Point(1), Answer(5))]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"global_concurrency": 0}, ValueError, "global_concurrency: expected"),
        ({"per_agent_concurrency": True}, ValueError, "per_agent_concurrency: expected"),
        ({"backpressure": "drop"}, ValueError, "backpressure: expected one of queue, reject, fallback-sync"),
        ({"engine": 1}, TypeError, "engine: expected an Engine, got int"),
        ({"tools": ["x"]}, TypeError, "tools: expected 'all' or a mapping"),
        ({"tools": {"x": {"enable": True}}}, TypeError, "tools.x: unknown key 'enable'"),
        ({"timeout": 0}, ValueError, "background.timeout: expected"),
        ({"retry_delay": -1}, ValueError, "background.retry_delay: expected"),
        ({"on_failed": 1}, TypeError, "background.on_failed: expected"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        BackgroundManager(**options)
    with pytest.raises(ValueError, match="keep_failed: expected"):
        LocalEngine(keep_failed=-1)


@virtual_time
async def test_a_check_that_asks_when_a_task_is_resumed_is_told_and_the_task_stays_suspended():
    entered: list[Any] = []
    task = await BackgroundManager().start(asking(entered).replace(resume_schema=Asks()), {"n": 1})
    await asyncio.sleep(1)
    with pytest.raises(ToolSuspended) as caught:
        await task.resume({"ok": True})
    assert (caught.value.payload, caught.value.options) == ({"may": "I?"}, {"resume_label": "perhaps"})
    assert (caught.value.tool_id, task.status, len(entered)) == ("work", "suspended", 1)
    await task.resume({"ok": True})
    assert await task.result() == {"answer": True}


@virtual_time
async def test_a_check_that_asks_when_a_task_is_started_is_told_and_nothing_is_started():
    engine = LocalEngine()
    tool = made(sleeping(1), input_schema=Asks())
    with pytest.raises(ToolSuspended) as caught:
        await BackgroundManager(engine).start(tool, {"n": 1}, task_id="t")
    assert (caught.value.payload, await engine.state("t")) == ({"may": "I?"}, None)
    assert await (await BackgroundManager(engine).start(tool, {"n": 1}, task_id="t")).result() == {"n": 1}
