"""The `execute` family: what comes back, what is raised, in which order things are checked."""

import asyncio
import gc
import json
import threading
import time

import pytest

from toolhead import (
    AbortController,
    DecodeError,
    ToolAbortedError,
    ToolError,
    ToolTimeoutError,
    ValidationError,
    create_tool,
)

INPUT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "d": {"type": "string", "default": "filled"}, "n": {"type": "string"}},
    "required": ["a"],
}
OUTPUT = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}


def made(execute, **options):
    return create_tool(**{"id": "t", "description": "A tool.", "input_schema": INPUT, "execute": execute, **options})


async def echo(value):
    return value


async def test_validated_input_with_defaults_reaches_the_body():
    given = {"a": 1}
    assert await made(echo).execute(given) == {"a": 1, "d": "filled"}
    assert given == {"a": 1}


async def test_text_and_data_agree():
    tool = made(echo)
    for text in ('{"a": 1}', b'{"a": 1}', bytearray(b'{"a": 1}')):
        assert await tool.execute_json(text) == await tool.execute({"a": 1})


async def test_invalid_input_is_returned_and_the_body_does_not_run():
    ran = []
    result = await made(ran.append).execute({"a": "x"})
    assert isinstance(result, ValidationError)
    assert (result.phase, result.tool_id, result.value, ran) == ("input", "t", {"a": "x"}, [])


async def test_text_that_is_not_json():
    result = await made(echo).execute_json('{"a": 1')
    assert isinstance(result, ValidationError)
    assert isinstance(result.__cause__, DecodeError)
    assert result.phase == "input"
    assert result.value == '{"a": 1'
    assert result.validation_errors["errors"]


async def test_text_that_is_no_text():
    with pytest.raises(TypeError):
        await made(echo).execute_json(5)


async def test_empty_text_is_an_empty_object_where_the_schema_wants_one():
    optional = {"type": "object", "properties": {"a": {"type": "integer"}}}
    for text in ("", "  \n", b""):
        assert await made(echo, input_schema=optional).execute_json(text) == {}
    assert isinstance(await made(echo).execute_json(""), ValidationError)


async def test_invalid_output_is_returned_and_stays_reachable():
    async def body(_):
        return {"b": "x"}

    result = await made(body, output_schema=OUTPUT).execute({"a": 1})
    assert isinstance(result, ValidationError)
    assert (result.phase, result.value) == ("output", {"b": "x"})


async def test_raises_instead_of_returning():
    tool = made(echo)
    calls = [
        lambda: tool.execute({}, raises=True),
        lambda: tool.execute_json("{}", raises=True),
        lambda: tool.execute_or_raise({}),
        lambda: tool.execute({}, {}, raises=True),
        lambda: made(echo, timeout=5).execute({}, raises=True),
    ]
    for call in calls:
        with pytest.raises(ValidationError):
            await call()
    assert await tool.execute_or_raise({"a": 1}) == {"a": 1, "d": "filled"}


async def test_arguments_by_name_and_wrong_arguments():
    tool = made(echo)
    assert (await tool.execute(input={"a": 1}, context=None))["a"] == 1
    assert (await tool.execute_json(text='{"a": 1}'))["a"] == 1
    for call in (tool.execute, lambda: tool.execute({}, {}, {}), lambda: tool.execute({}, nonsense=1)):
        with pytest.raises(TypeError):
            call()


async def test_a_body_that_returns_a_validation_error_has_failed_with_it():
    failure = ValidationError([], phase="output", tool_id="other")

    async def body(_):
        return failure

    for options in ({}, {"output_schema": OUTPUT}, {"output_schema": True}):
        assert await made(body, **options).execute({"a": 1}) is failure
        with pytest.raises(ValidationError):
            await made(body, **options).execute_or_raise({"a": 1})


async def test_repairs_are_told_and_only_reported_when_they_help():
    seen = []

    async def body(value, context):
        seen.append(context.repairs)
        return value

    assert await made(body).execute({"a": 1, "n": None}) == {"a": 1, "d": "filled"}
    await made(body).execute({"a": 1})
    assert len(seen[0]) == 1
    assert seen[1] == ()
    refused = await made(body, repair_input=False).execute({"a": 1, "n": None})
    assert [issue.path for issue in refused.issues] == [("n",)]


async def test_gather_shows_failures_as_results():
    tool = made(echo)
    results = await asyncio.gather(tool.execute({"a": 1}), tool.execute({}))
    assert isinstance(results[1], ValidationError)


# --------------------------------------------------------------------------------------------- sync


def test_execute_sync_runs_in_the_calling_thread():
    for where in ("thread", "inline"):
        tool = made(lambda value: threading.get_ident(), run_sync_in=where)
        assert tool.execute_sync({"a": 1}) == threading.get_ident()
        assert tool.execute_json_sync('{"a": 1}') == threading.get_ident()
    assert isinstance(made(echo).execute_sync({}), ValidationError)
    with pytest.raises(ValidationError):
        tool.execute_sync({}, raises=True)


def test_execute_sync_of_an_async_body_outside_a_loop():
    assert made(echo).execute_sync({"a": 1})["a"] == 1


async def test_execute_sync_of_an_async_body_inside_a_loop():
    with pytest.raises(RuntimeError, match=r"await tool\.execute"):
        made(echo).execute_sync({"a": 1})


async def test_sync_bodies_run_in_a_thread_or_inline():
    tool = made(lambda value: threading.get_ident())
    assert await tool.execute({"a": 1}) != threading.get_ident()
    assert await tool.replace(run_sync_in="inline").execute({"a": 1}) == threading.get_ident()


async def test_a_sync_body_in_a_thread_does_not_block_the_loop():
    entered, leave = threading.Event(), threading.Event()

    def body(_):
        entered.set()
        return leave.wait(5)

    task = asyncio.create_task(made(body).execute({"a": 1}))
    assert await asyncio.to_thread(entered.wait, 5)
    leave.set()
    assert await task is True


# --------------------------------------------------------------------------------------- timeout, abort


async def test_timeout_of_an_async_body():
    events = []

    async def body(_, context):
        try:
            await asyncio.sleep(10)
        finally:
            events.append(context.abort_signal.aborted)

    with pytest.raises(ToolTimeoutError, match=r"0\.01 seconds") as raised:
        await made(body, timeout=0.01).execute({"a": 1}, {"tool_call_id": "c1"})
    assert (raised.value.tool_id, raised.value.tool_call_id, raised.value.phase) == ("t", "c1", "execute")
    assert events == [True]


async def test_a_body_that_ignores_its_timeout_is_left_after_the_grace():
    async def body(_):
        while True:
            try:
                return await asyncio.sleep(0.3)
            except asyncio.CancelledError:
                continue

    begun = time.perf_counter()
    with pytest.raises(ToolTimeoutError):
        await made(body, timeout=0.01, grace=0.02).execute({"a": 1})
    assert time.perf_counter() - begun < 0.25
    await asyncio.sleep(0.35)  # ends by itself, silently


async def test_an_answer_in_time_and_an_error_in_time():
    async def fails(_):
        raise LookupError

    assert (await made(echo, timeout=5).execute({"a": 1}))["a"] == 1
    with pytest.raises(LookupError):
        await made(fails, timeout=5).execute({"a": 1})


async def test_timeout_of_a_sync_body_drops_its_late_result():
    leave = threading.Event()
    with pytest.raises(ToolTimeoutError):
        await made(lambda _: leave.wait(5), timeout=0.01, grace=0).execute({"a": 1})
    leave.set()


def test_timeout_of_a_sync_body_without_a_loop():
    leave = threading.Event()
    with pytest.raises(ToolTimeoutError):
        made(lambda _: leave.wait(5), timeout=0.01).execute_sync({"a": 1})
    leave.set()
    assert made(lambda _: 5, timeout=5).execute_sync({"a": 1}) == 5


async def test_a_timeout_error_of_the_body_is_its_own():
    async def body(_):
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine") as raised:
        await made(body, timeout=5).execute({"a": 1})
    assert not isinstance(raised.value, ToolError)


async def test_abort_cancels_the_body_with_one_outcome():
    controller = AbortController()
    events = []

    async def body(_, context):
        try:
            await asyncio.sleep(10)
        finally:
            events.append(context.abort_signal.reason)

    task = asyncio.create_task(made(body).execute({"a": 1}, {"abort_signal": controller.signal}))
    await asyncio.sleep(0.01)
    controller.abort("no longer needed")
    with pytest.raises(ToolAbortedError, match="no longer needed"):
        await task
    assert len(events) == 1


async def test_abort_from_another_thread_of_a_sync_body():
    controller, begun, leave = AbortController(), threading.Event(), threading.Event()

    def body(_):
        begun.set()
        leave.wait(5)

    def abort():
        begun.wait(5)
        controller.abort()

    tool = made(body, grace=0)
    task = asyncio.create_task(tool.execute({"a": 1}, {"abort_signal": controller.signal}))
    threading.Thread(target=abort).start()
    with pytest.raises(ToolAbortedError):
        await task
    leave.set()


async def test_an_aborted_signal_does_not_stop_a_call_from_beginning():
    controller = AbortController()
    controller.abort()
    seen = []

    async def body(_, context):
        seen.append(context.abort_signal.aborted)
        return 1

    assert await made(body).execute({"a": 1}, {"abort_signal": controller.signal}) == 1
    assert seen == [True]


async def test_cancelling_a_supervised_call_cancels_the_body_and_leaves_no_task():
    events = []

    async def body(_, context):
        try:
            await asyncio.sleep(10)
        finally:
            events.append(context.abort_signal.aborted)

    controller = AbortController()
    task = asyncio.create_task(made(body, timeout=5).execute({"a": 1}, {"abort_signal": controller.signal}))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events == [True]
    assert not controller.signal.aborted  # the caller's own signal is the caller's
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_answer_that_a_cancellation_overtakes_is_dropped_silently():
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    go_on = asyncio.Event()

    async def body(_):
        await go_on.wait()
        raise LookupError

    task = asyncio.create_task(made(body, timeout=5).execute({"a": 1}))
    await asyncio.sleep(0.01)
    go_on.set()
    await asyncio.sleep(0)  # the body has failed, its call has not heard of it
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    del task
    await asyncio.sleep(0)  # the loop lets go of what it has just run
    gc.collect()
    assert told == []


async def test_a_supervised_call_leaves_nothing_on_the_callers_signal():
    controller = AbortController()
    for _ in range(5):
        await made(echo).execute({"a": 1}, {"abort_signal": controller.signal})
    assert controller.signal._callbacks == []


# -------------------------------------------------------------------------------------------- validate_*


def test_validate_raises_and_returns_values():
    tool = made(
        echo,
        output_schema=OUTPUT,
        suspend_schema=OUTPUT,
        resume_schema=OUTPUT,
        request_context_schema={"type": "object", "properties": {"tier": {"type": "string", "default": "free"}}},
    )
    assert tool.validate_input({"a": 1}) == {"a": 1, "d": "filled"}
    assert tool.validate_input_json('{"a": 1}') == {"a": 1, "d": "filled"}
    assert tool.validate_output({"b": 1}) == {"b": 1}
    assert tool.validate_suspend({"b": 1}) == {"b": 1}
    assert tool.validate_resume({"b": 1}) == {"b": 1}
    assert tool.validate_request_context({"x": 1}) == {"x": 1, "tier": "free"}
    for call, phase in (
        (lambda: tool.validate_input({}), "input"),
        (lambda: tool.validate_input_json("nonsense"), "input"),
        (lambda: tool.validate_output({}), "output"),
        (lambda: tool.validate_suspend({}), "suspend"),
        (lambda: tool.validate_resume({}), "resume"),
        (lambda: tool.validate_request_context({"tier": 1}), "request_context"),
    ):
        with pytest.raises(ValidationError) as raised:
            call()
        assert raised.value.phase == phase
        assert raised.value.tool_id == "t"


async def test_no_input_schema_passes_anything():
    tool = create_tool(id="t", description="d", execute=lambda value: value, run_sync_in="inline")
    marker = object()
    assert await tool.execute(marker) is marker
    assert await tool.execute(None) is None
    assert await tool.execute_json("[1, null]") == [1, None]
    assert isinstance((await tool.execute_json("[1,")).__cause__, DecodeError)


def test_results_are_json_data():
    assert json.dumps(made(echo).execute_sync({"a": 1}))
