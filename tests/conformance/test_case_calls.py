"""Public reports about one call: arguments, their repair, outputs, messages, request context, timeouts."""

import asyncio
import json
import logging
import math
import pickle
import threading
import time
import traceback
import uuid
from contextvars import ContextVar
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from conformance.case_tools import call, end, step, tool_of
from toolhead import RequestContext, ToolRunner, ToolTimeoutError, ValidationError, create_tool
from toolhead.runs.sendable import sendable


def pointers(error: Any) -> list[str]:
    assert isinstance(error, ValidationError)
    return [issue.pointer for issue in error.issues]


# ------------------------------------------------------------------------------------------- messages


@pytest.mark.ids("pr-115")
async def test_the_failing_parameter_is_named(case: dict[str, Any]) -> None:
    tool, _ = tool_of(case)
    error = await tool.execute({"a": {"b": 3}})
    assert pointers(error) == ["/a/b"]
    (issue,) = error.issues
    assert (issue.path, issue.keyword, issue.expected) == (("a", "b"), "type", "string")
    assert "a.b" in error.message
    assert "string" in error.message


@pytest.mark.ids("pr-117")
async def test_a_secret_value_stands_nowhere(case: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    secret = "s3cr3t-value"
    hidden, _ = tool_of(case, show_data=False)
    by_name, _ = tool_of(case)
    renamed = {"type": "object", "properties": {"note": {"type": "string", "maxLength": 4}}}
    by_option, _ = tool_of(case, input_schema=renamed, redact=("note",))
    with caplog.at_level(logging.DEBUG):
        for tool, name in ((hidden, "token"), (by_name, "token"), (by_option, "note")):
            with pytest.raises(ValidationError) as raised:
                await tool.execute_or_raise({name: secret})
            run = ToolRunner([tool]).run()
            await step(run, call(0, {name: secret}), end())
            for error in (raised.value, run.results[0].error):
                shown = [str(error), repr(error), error.message, repr(error.issues), json.dumps(error.to_dict())]
                shown += ["".join(traceback.format_exception(error)), repr(error.__cause__), repr(error.__context__)]
                assert not [text for text in shown if secret in text]
            assert secret not in json.dumps(run.messages()[1])
    assert secret not in caplog.text


@pytest.mark.ids("pr-119")
async def test_a_doubly_encoded_argument_is_told_in_json_terms(case: dict[str, Any]) -> None:
    tool, seen = tool_of(case)
    error = await tool.execute({"files": "not json"})
    assert pointers(error) == ["/files"]
    assert "- files: Expected array, got string" in error.message
    assert seen == []


# ------------------------------------------------------------------------- what a model makes of arguments


@pytest.mark.ids("pr-121", "pr-123", "pr-130", "pr-135")
async def test_the_body_receives_what_was_meant(case: dict[str, Any]) -> None:
    wanted = {
        "pr-121": {"due": None},
        "pr-123": {"rows": [{"id": 1}, {"id": 2, "tag": "x"}]},
        "pr-130": {"body": '{"k":1}'},
        "pr-135": {"a": "x"},
    }
    tool, seen = tool_of(case)
    (one,) = case["steps"]
    given = json.loads(json.dumps(one["call_with"]))
    assert await tool.execute(given) is None
    assert await tool.execute_json(json.dumps(given)) is None
    assert seen == [wanted[case["id"]]] * 2
    assert given == one["call_with"]  # the caller's own data stays as it is


@pytest.mark.ids("pr-125")
async def test_empty_argument_text_is_an_empty_object(case: dict[str, Any]) -> None:
    tool, seen = tool_of(case)
    for one in case["steps"]:
        assert await tool.execute_json(one["call_with_text"]) is None
        run = ToolRunner([tool]).run()
        await step(run, call(0, one["call_with_text"]), end())
        assert run.results[0].status == "ok"
    assert seen == [{}] * 2 * len(case["steps"])
    error = await tool.execute({"a": ""})  # only where the whole text is empty
    assert error is None
    assert seen[-1] == {"a": ""}


@pytest.mark.ids("pr-126")
async def test_null_for_all_arguments(case: dict[str, Any]) -> None:
    tool, seen = tool_of(case)
    assert await tool.execute_json(case["steps"][0]["call_with_text"]) is None
    assert seen == [{}]
    strict, seen = tool_of(case, input_schema={"type": "object", "properties": {"a": {}}, "required": ["a"]})
    error = await strict.execute_json("null")
    assert isinstance(error, ValidationError)
    assert "- a: " in error.message
    assert seen == []


@pytest.mark.ids("pr-127")
async def test_a_list_as_json_text(case: dict[str, Any]) -> None:
    first, second, third = (one["call_with"] for one in case["steps"])
    tool, seen = tool_of(case)
    assert await tool.execute(first) is None
    assert seen == [{"queries": ["a", "b"]}]
    error = await tool.execute(second)
    assert pointers(error) == ["/queries"]
    assert "Expected array, got string" in error.issues[0].message
    for error in (await tool.execute(third), await tool.execute_json(json.dumps(third))):
        # What the first validation said stays what is reported (a golden vector has it so); what is wrong in the text
        # is told with it.
        (issue,) = error.issues
        assert [inner.pointer for inner in issue.causes[0]] == ["/queries/0"]
        assert "in its JSON text at 0: Expected string, got integer" in error.message
    assert len(seen) == 1


@pytest.mark.ids("pr-132")
async def test_a_number_that_is_none_is_a_validation_error(case: dict[str, Any]) -> None:
    given = case["steps"][0]["call_with"]
    tool, seen = tool_of(case)
    assert pointers(await tool.execute(given)) == ["/x"]
    run = ToolRunner([tool]).run()
    await step(run, call(0, given), end())
    assert [(result.tool_call_id, result.status) for result in run.results] == [("c0", "invalid")]
    assert [message["tool_call_id"] for message in run.messages()[1:]] == ["c0"]
    assert seen == []


@pytest.mark.ids("pr-133")
async def test_quoted_text_is_not_passed_on_for_a_format(case: dict[str, Any]) -> None:
    tool, seen = tool_of(case)
    assert pointers(await tool.execute(case["steps"][0]["call_with"])) == ["/id"]
    assert seen == []


@pytest.mark.ids("pr-136", "pr-137", "pr-138")
async def test_empty_and_null_values_are_values(case: dict[str, Any]) -> None:
    given = {"pr-136": {"fields": [], "opts": {}}, "pr-137": {"filter": ""}, "pr-138": {"s": None}}[case["id"]]
    tool, seen = tool_of(case)
    assert await tool.execute(given) is None
    assert await tool.execute_json(json.dumps(given)) is None
    assert seen == [given, given]


@pytest.mark.ids("pr-204")
def test_names_follow_the_mcp_rule(case: dict[str, Any]) -> None:
    assert tool_of(case, id="a.b")[0].id == "a.b"
    assert tool_of(case, id="x" * 128)[0].id == "x" * 128
    for name in ("x" * 129, "has space", ""):
        with pytest.raises(ValueError, match=r"id: expected 1 to 128 of A-Z a-z 0-9 _ \. -"):
            tool_of(case, id=name)


# -------------------------------------------------------------------------------------------- outputs


@pytest.mark.ids("pr-220")
async def test_an_open_output_keeps_its_members(case: dict[str, Any]) -> None:
    output = {"items": [{"id": 1}], "next": "n"}
    tool, _ = tool_of(case, lambda *_: output)
    assert await tool.execute({}) == {"items": [{"id": 1}], "next": "n"}


@pytest.mark.ids("pr-221")
async def test_an_output_that_lacks_a_member(case: dict[str, Any]) -> None:
    tool, _ = tool_of(case, lambda *_: {"user": {}})
    error = await tool.execute({})
    assert isinstance(error, ValidationError)
    assert error.phase == "output"
    assert [(issue.pointer, issue.keyword) for issue in error.issues] == [("/data", "required")]
    assert "data" in error.message
    assert error.value == {"user": {}}  # the application may use it all the same


@pytest.mark.ids("pr-222")
async def test_none_is_null(case: dict[str, Any]) -> None:
    tool, _ = tool_of(case, lambda *_: None)
    error = await tool.execute({})
    assert isinstance(error, ValidationError)
    assert (error.phase, error.issues[0].message) == ("output", "Expected object, got null")


class Opaque:
    def __repr__(self) -> str:
        return "<the repr of an opaque object>"


@pytest.mark.ids("pr-225")
async def test_an_output_that_is_no_data_is_an_error_at_its_path(case: dict[str, Any]) -> None:
    tool, _ = tool_of(case, lambda *_: {"when": Opaque()})
    error = await tool.execute({})
    assert pointers(error) == ["/when"]
    assert "Opaque" in error.issues[0].message  # the type's name
    run = ToolRunner([tool]).run()
    chunks = await step(run, call(0, {}), end())
    (result,) = [chunk for chunk in chunks if chunk.type == "tool-result"]
    assert result.is_error
    told = json.dumps([error.to_dict(), result.to_dict(), run.messages()])
    assert "the repr of" not in told


@pytest.mark.ids("pr-226")
async def test_dates_and_uuids_are_encoded_before_they_are_checked(case: dict[str, Any]) -> None:
    when = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    tool, _ = tool_of(case, lambda *_: {"at": when, "id": uuid.UUID(int=5)})
    output = await tool.execute({})
    assert output["at"] in ("2024-05-06T07:08:09Z", "2024-05-06T07:08:09+00:00")
    assert output["id"] == "00000000-0000-0000-0000-000000000005"
    naive, _ = tool_of(case, lambda *_: {"at": when.replace(tzinfo=None), "id": uuid.UUID(int=5)})
    error = await naive.execute({})
    assert [(issue.pointer, issue.keyword) for issue in error.issues] == [("/at", "format")]


@pytest.mark.ids("pr-227")
async def test_a_decimal_keeps_its_digits(case: dict[str, Any]) -> None:
    tool, _ = tool_of(case, lambda *_: {"total": Decimal("1234567890123456.78")})
    output = await tool.execute({})
    assert not isinstance(output, ValidationError)
    assert output["total"] == Decimal("1234567890123456.78")
    run = ToolRunner([tool]).run()
    chunks = await step(run, call(0, {}), end())
    assert run.results[0].status == "ok"
    assert "1234567890123456.78" in run.messages()[1]["content"]
    (result,) = [chunk for chunk in chunks if chunk.type == "tool-result"]
    assert "1234567890123456.78" in json.dumps(result.to_dict())


@pytest.mark.ids("pr-228")
async def test_nan_never_goes_out(case: dict[str, Any]) -> None:
    tool, _ = tool_of(case, lambda *_: {"score": math.nan})
    error = await tool.execute({})
    assert pointers(error) == ["/score"]
    run = ToolRunner([tool]).run()
    chunks = await step(run, call(0, {}), end())
    wire = json.dumps([[chunk.to_dict() for chunk in chunks], run.messages()], allow_nan=False)
    assert "NaN" not in json.dumps(sendable({"score": math.nan}))
    assert run.results[0].status == "invalid"
    assert "score" in wire


# ------------------------------------------------------------------------------------ request context


@pytest.mark.ids("pr-189")
async def test_the_body_sees_the_validated_request_context(case: dict[str, Any]) -> None:
    tiers: list[Any] = []
    tool, _ = tool_of(case, lambda _, context: tiers.append(context.request_context.get("tier")))
    given = RequestContext()
    assert await tool.execute({}, {"request_context": given}) is None
    assert tiers == ["free"]
    assert dict(given) == {}


@pytest.mark.ids("pr-192")
async def test_context_variables_reach_a_thread_and_do_not_stay_there(case: dict[str, Any]) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    seen: list[tuple[str, int]] = []

    def execute(_: Any) -> None:
        seen.append((variable.get(), threading.get_ident()))
        variable.set("inside")

    tool = create_tool(id="t", description="d", execute=execute)
    variable.set("mine")
    await tool.execute({})
    await tool.execute({})
    assert [value for value, _ in seen] == ["mine", "mine"]
    assert threading.get_ident() not in [thread for _, thread in seen]
    assert variable.get() == "mine"
    await asyncio.create_task(_reset_and_call(variable, tool))
    assert seen[-1][0] == "other"


async def _reset_and_call(variable: ContextVar[str], tool: Any) -> None:
    variable.set("other")
    await tool.execute({})


@pytest.mark.ids("pr-193")
async def test_a_timeout_is_not_inherited_by_a_nested_call(case: dict[str, Any]) -> None:
    started: list[asyncio.Task[Any]] = []
    aborted: list[bool] = []

    async def inner(_: Any, context: Any) -> str:
        await asyncio.sleep(0.15)
        aborted.append(context.abort_signal.aborted)
        return "whole"

    nested = create_tool(id="inner", description="d", execute=inner)

    async def outer(_: Any) -> Any:
        started.append(asyncio.ensure_future(nested.execute({})))
        return await asyncio.shield(started[0])

    tool = create_tool(id="outer", description="d", execute=outer, timeout=0.05)
    with pytest.raises(ToolTimeoutError) as raised:
        await tool.execute({})
    assert raised.value.tool_id == "outer"
    assert await started[0] == "whole"
    assert aborted == [False]


@pytest.mark.ids("pr-194")
async def test_a_failing_request_context_stops_the_call_first(
    case: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[Any] = []
    tool, seen = tool_of(case, require_approval=lambda *given: asked.append(given) or True)
    context = RequestContext({"api_key": "short"})
    with caplog.at_level(logging.DEBUG):
        error = await tool.execute({}, {"request_context": context})
        run = ToolRunner([tool]).run(request_context=context)
        chunks = await step(run, call(0, {}), end())
    for told in (error, run.results[0].error):
        assert told.to_dict()["error"] is True
        assert pointers(told) == ["/api_key"]
        assert "short" not in told.message
    assert (seen, asked, run.pending) == ([], [], ())
    assert "tool-call-approval" not in [chunk.type for chunk in chunks]
    assert "short" not in caplog.text


# ------------------------------------------------------------------------------------------- timeouts


@pytest.mark.ids("pr-232")
async def test_clean_up_has_a_bounded_grace(case: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    async def execute(*_: Any) -> None:
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(5)

    tool, _ = tool_of(case, execute, timeout=case["setup"]["timeout_ms"] / 1000, grace=0.2)
    began = time.perf_counter()
    with caplog.at_level(logging.WARNING, logger="toolhead"), pytest.raises(ToolTimeoutError):
        await tool.execute({})
    assert time.perf_counter() - began <= 0.5
    assert "the body of the tool 't' still runs 0.2 s after it was stopped" in caplog.text
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()  # the body that was left behind
    await asyncio.sleep(0)


@pytest.mark.ids("pr-233")
async def test_a_late_result_of_a_thread_is_dropped(case: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    signals: list[bool] = []

    def execute(input: dict[str, Any], context: Any) -> str:
        if input.get("slow"):
            time.sleep(0.4)
            signals.append(context.abort_signal.aborted)
            ended.set()
        return "late" if input.get("slow") else "own"

    tool = create_tool(id="t", description="d", execute=execute, timeout=0.05, grace=0.05)
    run = ToolRunner([tool], concurrency=2).run()
    began = time.perf_counter()
    await step(run, call(0, {"slow": True}), call(1, {}), end())
    assert time.perf_counter() - began < 0.35
    assert [(result.tool_call_id, result.status, result.output) for result in run.results] == [
        ("c0", "error", None),
        ("c1", "ok", "own"),
    ]
    assert isinstance(run.results[0].error, ToolTimeoutError)
    before = run.messages()
    await asyncio.to_thread(ended.wait, 5)
    await asyncio.sleep(0.02)
    assert signals == [True]
    assert "the body of the tool 't' runs on in its thread" in caplog.text
    assert run.messages() == before
    assert pickle.loads(pickle.dumps(run.results[0].error)).tool_id == "t"
