"""Each trap of a native awaitable that drives a coroutine, one test a trap."""

import asyncio
import collections.abc
import gc
import inspect
import sys
import threading
import traceback
import types
import warnings
import weakref

import pytest

from toolhead import ValidationError, create_tool

ANY = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ANSWER = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}


def made(execute, **options):
    return create_tool(id="trap", description="A trap.", input_schema=ANY, execute=execute, **options)


async def answers(_):
    return {"b": 1}


async def waits(_):
    await asyncio.sleep(0)
    return {"b": 1}


# ---------------------------------------------------------------------------------- what a body may raise


async def test_stop_iteration_of_a_sync_body_does_not_hang_the_task():
    def body(_):
        raise StopIteration(3)

    for where in ("inline", "thread"):
        call = made(body, run_sync_in=where).execute({"a": 1})
        with pytest.raises(RuntimeError, match="StopIteration") as raised:
            await asyncio.wait_for(call, 2)
        assert isinstance(raised.value.__cause__, StopIteration)


async def test_stop_iteration_of_an_async_body():
    async def body(_):
        raise StopIteration(3)

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(asyncio.create_task(made(body).execute({"a": 1})), 2)


async def test_exception_of_the_body_propagates_unchanged():
    error = LookupError("gone")

    async def body(_):
        await asyncio.sleep(0)
        raise error

    with pytest.raises(LookupError) as raised:
        await made(body).execute({"a": 1})
    assert raised.value is error


async def test_traceback_holds_the_frames_of_caller_and_body_only():
    async def body(_):
        raise LookupError

    with pytest.raises(LookupError) as raised:
        await made(body).execute({"a": 1})
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names == ["test_traceback_holds_the_frames_of_caller_and_body_only", "body"]


async def test_system_exit_and_keyboard_interrupt_pass():
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):

        async def body(_, *, kind=kind):
            raise kind

        with pytest.raises(kind):
            await made(body, run_sync_in="inline").execute({"a": 1})


def test_endless_recursion_through_tools_ends():
    tools = []

    async def body(value):
        return await tools[0].execute(value)

    tools.append(made(body))
    with pytest.raises(RecursionError):
        asyncio.run(_awaited(tools[0].execute({"a": 1})))


async def _awaited(call):
    return await call


# ------------------------------------------------------------------------------- what a body may return


async def test_generator_based_coroutine_is_awaited():
    @types.coroutine
    def body(_):
        yield
        return {"b": 2}

    assert await made(body, output_schema=ANSWER).execute({"a": 1}) == {"b": 2}


async def test_sync_body_that_returns_an_awaitable_is_awaited():
    class Later:
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return {"b": 3}

    future = asyncio.get_running_loop().create_future()
    future.set_result({"b": 4})
    for where in ("inline", "thread"):
        assert await made(lambda _: Later(), run_sync_in=where, output_schema=ANSWER).execute({"a": 1}) == {"b": 3}
        assert await made(lambda _: future, run_sync_in=where, output_schema=ANSWER).execute({"a": 1}) == {"b": 4}
        assert await made(waits, run_sync_in=where, output_schema=ANSWER).execute({"a": 1}) == {"b": 1}


async def test_a_plain_generator_is_no_coroutine():
    result = await made(lambda _: (x for x in ()), run_sync_in="inline").execute({"a": 1})
    assert inspect.isgenerator(result)


# ------------------------------------------------------------------------------------------ cancellation


async def test_cancelled_before_the_first_step_the_body_does_not_run():
    ran = []

    async def body(_):
        ran.append(1)

    task = asyncio.create_task(made(body).execute({"a": 1}))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ran == []


async def test_cancelled_inside_the_body():
    events = []

    async def body(_):
        try:
            await asyncio.sleep(10)
        finally:
            events.append("cleaned")

    task = asyncio.create_task(made(body).execute({"a": 1}))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events == ["cleaned"]


@pytest.mark.parametrize(("answer", "valid"), [({"b": 1}, True), ({"b": "x"}, False)])
async def test_the_answer_of_a_body_that_catches_its_cancellation_is_validated(answer, valid):
    async def body(_):
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return answer

    task = asyncio.create_task(made(body, output_schema=ANSWER).execute({"a": 1}))
    await asyncio.sleep(0)
    task.cancel()
    result = await task
    assert (result == answer) if valid else (isinstance(result, ValidationError) and result.phase == "output")


async def test_a_body_that_catches_its_cancellation_and_waits_again():
    async def body(_):
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return {"b": 1}

    task = asyncio.create_task(made(body, output_schema=ANSWER).execute({"a": 1}))
    await asyncio.sleep(0)
    task.cancel()
    assert await task == {"b": 1}


async def test_cancelling_the_awaiting_task_aborts_the_signal():
    seen = []

    async def body(_, context):
        signal = context.abort_signal
        try:
            await asyncio.sleep(10)
        finally:
            seen.append(signal.aborted)

    task = asyncio.create_task(made(body).execute({"a": 1}))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [True]


async def test_wait_for_cancels_the_body():
    async def body(_):
        await asyncio.sleep(10)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(made(body).execute({"a": 1}), 0.01)


# --------------------------------------------------------------------------------- the awaitable protocol


def test_never_awaited_is_warned():
    tool = made(answers)
    with pytest.warns(RuntimeWarning, match="the call of tool 'trap' was never awaited"):
        tool.execute({"a": 1})


def test_never_awaited_keeps_the_pending_exception():
    tool = made(answers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(LookupError):
            _raise_with_call(tool)


def _raise_with_call(tool):
    call = tool.execute({"a": 1})  # dropped by the unwinding
    raise LookupError(type(call).__name__)


def test_never_awaited_as_an_error_is_unraisable(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_type))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(answers).execute({"a": 1})
    assert told == [RuntimeWarning]


def test_closed_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call = made(answers).execute({"a": 1})
        call.close()
        del call


async def test_awaited_twice():
    call = made(answers).execute({"a": 1})
    await call
    with pytest.raises(RuntimeError, match="already awaited"):
        await call
    with pytest.raises(RuntimeError, match="already awaited"):
        call.throw(ValueError)
    call.close()


async def test_awaited_from_within_itself():
    calls = []

    async def body(_):
        with pytest.raises(ValueError, match="already executing"):
            calls[0].send(None)
        with pytest.raises(ValueError, match="already executing"):
            calls[0].throw(LookupError)
        with pytest.raises(ValueError, match="already executing"):
            calls[0].close()
        return {"b": 1}

    calls.append(made(body).execute({"a": 1}))
    assert await calls[0] == {"b": 1}


def test_driven_by_hand():
    call = made(waits).execute({"a": 1})
    with pytest.raises(TypeError, match="just-started"):
        made(waits).execute({"a": 1}).send(1)
    assert call.send(None) is None
    with pytest.raises(StopIteration) as stop:
        call.send(None)
    assert stop.value.value == {"b": 1}
    steps = iter(made(answers).execute({"a": 1}))
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == {"b": 1}


def test_values_that_look_like_exceptions_come_back_whole():
    for value in ((1, 2), ValueError("x"), StopIteration(5), None):
        call = create_tool(id="t", description="d", execute=lambda given: given, run_sync_in="inline").execute(value)
        with pytest.raises(StopIteration) as stop:
            call.send(None)
        assert stop.value.value is value


def test_throw_before_the_first_step():
    call = made(answers).execute({"a": 1})
    with pytest.raises(LookupError, match="first"):
        call.throw(LookupError("first"))
    with pytest.raises(RuntimeError, match="already awaited"):
        call.send(None)
    with pytest.raises(LookupError):
        made(answers).execute({"a": 1}).throw(LookupError)


def test_throw_into_a_waiting_body_that_catches_it():
    async def body(_):
        try:
            await asyncio.sleep(0)
        except LookupError:
            return {"b": 7}

    call = made(body, output_schema=ANSWER).execute({"a": 1})
    call.send(None)
    with pytest.raises(StopIteration) as stop:
        call.throw(LookupError())
    assert stop.value.value == {"b": 7}


def test_throw_into_an_iterator_without_throw():
    class Later:
        def __await__(self):
            return iter([None])

    call = made(lambda _: Later(), run_sync_in="inline").execute({"a": 1})
    call.send(None)
    with pytest.raises(LookupError):
        call.throw(LookupError())


def test_close_runs_finally():
    events = []

    async def body(_):
        try:
            await asyncio.sleep(0)
        finally:
            events.append("closed")

    call = made(body).execute({"a": 1})
    call.send(None)
    call.close()
    assert events == ["closed"]


def test_dropped_while_waiting_runs_finally():
    events = []

    async def body(_):
        try:
            await asyncio.sleep(0)
        finally:
            events.append("closed")

    call = made(body).execute({"a": 1})
    call.send(None)
    del call
    assert events == ["closed"]


def test_two_threads_never_share_a_call():
    started, go_on = threading.Event(), threading.Event()

    def body(_):
        started.set()
        go_on.wait(5)
        return {"b": 1}

    call = made(body, run_sync_in="inline").execute({"a": 1})
    answers = []

    def run():
        try:
            call.send(None)
        except StopIteration as stop:
            answers.append(stop.value)

    thread = threading.Thread(target=run)
    thread.start()
    started.wait(5)
    with pytest.raises(ValueError, match="already executing"):
        call.send(None)
    go_on.set()
    thread.join()
    assert answers == [{"b": 1}]


# ------------------------------------------------------------------------------------------- in asyncio


async def test_gather_task_group_shield_and_ensure_future():
    tool = made(waits)
    assert await asyncio.gather(*(tool.execute({"a": index}) for index in range(20))) == [{"b": 1}] * 20
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(tool.execute({"a": 1})) for _ in range(3)]
    assert [task.result() for task in tasks] == [{"b": 1}] * 3
    assert await asyncio.shield(tool.execute({"a": 1})) == {"b": 1}
    assert await asyncio.ensure_future(tool.execute({"a": 1})) == {"b": 1}
    assert await asyncio.wait_for(tool.execute({"a": 1}), 1) == {"b": 1}


def test_asyncio_run_and_debug_mode():
    assert asyncio.run(made(waits).execute({"a": 1}), debug=True) == {"b": 1}


def test_under_a_trace_function():
    seen = []
    sys.settrace(lambda frame, event, arg: seen.append(frame.f_code.co_name))
    try:
        assert asyncio.run(_awaited(made(waits).execute({"a": 1}))) == {"b": 1}
    finally:
        sys.settrace(None)
    assert "waits" in seen


async def test_what_asyncio_and_inspect_think_of_it():
    call = made(answers).execute({"a": 1})
    assert asyncio.iscoroutine(call)
    assert isinstance(call, collections.abc.Coroutine)
    assert inspect.isawaitable(call)
    assert not inspect.iscoroutine(call)
    assert call.__name__ == "trap"
    assert call.cr_running is False
    assert call.cr_frame is None
    await call


async def test_a_task_names_the_tool_and_finds_the_frame_of_the_body():
    task = asyncio.create_task(made(waits).execute({"a": 1}))
    await asyncio.sleep(0)
    assert "trap" in repr(task)
    assert [frame.f_code.co_name for frame in task.get_stack()] == ["waits"]
    await task


async def test_context_variables_are_those_of_the_awaiting_task():
    import contextvars

    variable = contextvars.ContextVar("variable", default="none")
    seen = []

    async def body(_):
        seen.append(variable.get())
        variable.set("by the body")

    call = made(body).execute({"a": 1})
    variable.set("set after execute")
    await call
    assert seen == ["set after execute"]
    assert variable.get() == "by the body"


# --------------------------------------------------------------------------------------------- memory


def test_a_cycle_through_its_own_input_is_collected():
    class Node:
        pass

    node = Node()
    gone = weakref.ref(node)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = create_tool(id="t", description="d", execute=answers).execute({"node": node})
        node.call = call
        del node, call
        gc.collect()
    assert gone() is None


def test_a_cycle_through_a_waiting_body_is_collected():
    class Node:
        pass

    node = Node()
    gone = weakref.ref(node)

    async def body(given, context):
        given["node"].context = context
        await asyncio.sleep(0)

    call = create_tool(id="t", description="d", execute=body).execute({"node": node})
    call.send(None)
    node.call = call
    del node, call
    gc.collect()
    assert gone() is None


def test_a_cycle_through_the_request_context_is_collected():
    class Node:
        pass

    node = Node()
    gone = weakref.ref(node)

    def body(given, context):
        context.request_context.set("node", given["node"])
        given["node"].context = context

    create_tool(id="t", description="d", execute=body, run_sync_in="inline").execute_sync({"node": node})
    del node
    gc.collect()
    assert gone() is None


def test_many_mixed_calls_leave_nothing_behind():
    async def body(given, context):
        if given["a"] == 1:
            raise LookupError
        if given["a"] == 2:
            await asyncio.sleep(0)
        return {"b": given["a"] if given["a"] != 3 else "wrong"}

    tool = made(body, output_schema=ANSWER)

    async def round_of_calls():
        for index in range(5):
            try:
                await tool.execute({"a": index})
                await tool.execute({"a": "x"})
                await tool.execute_json("{")
                await tool.execute_json('{"a": 4}')
            except LookupError:
                pass

    async def main():
        for _ in range(20):
            await round_of_calls()
        gc.collect()
        before, blocks = len(gc.get_objects()), sys.getallocatedblocks()
        for _ in range(1_000):
            await round_of_calls()
        gc.collect()
        assert len(gc.get_objects()) - before <= 2
        assert sys.getallocatedblocks() - blocks <= 500

    asyncio.run(main())


def test_the_callers_input_is_not_copied_and_references_are_given_back():
    given = {"a": 1}
    before = sys.getrefcount(given)
    seen = []
    tool = made(lambda value: seen.append(value is given), run_sync_in="inline")
    for _ in range(10):
        asyncio.run(_awaited(tool.execute(given)))
    assert seen == [True] * 10
    assert sys.getrefcount(given) == before
