"""What goes wrong in a call gives the error that the contract names, with tool, phase and place."""

import asyncio
import pickle

import pytest

from toolhead import (
    AbortController,
    DecodeError,
    SchemaError,
    ToolAbortedError,
    ToolError,
    ToolheadError,
    ToolNotExecutableError,
    ToolSuspended,
    ToolTimeoutError,
    ValidationError,
    Validator,
    create_tool,
)

PLACE = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "at": {"type": "object", "properties": {"lat": {"type": "number"}}}},
    "required": ["city"],
    "additionalProperties": False,
}


def echo(**options):
    async def body(input):
        return input

    return create_tool(**{"id": "echo", "description": "d", "input_schema": PLACE, "execute": body, **options})


def stated(error):
    return error.tool_id, error.phase, [issue.pointer for issue in error.issues]


# ----------------------------------------------------------------------------------- making a tool


@pytest.mark.parametrize("option", ["input_schema", "output_schema", "suspend_schema", "resume_schema"])
def test_schema_with_a_typo_names_option_and_place(option):
    with pytest.raises(SchemaError, match=option) as refusal:
        create_tool(id="t", description="d", **{option: {"type": "object", "properties": {"n": {"type": "intger"}}}})
    assert refusal.value.schema_path == "/properties/n/type"
    assert refusal.value.keyword == "type"
    assert "intger" in str(refusal.value)


def test_validator_schema_error_names_place():
    with pytest.raises(SchemaError) as refusal:
        Validator({"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}})
    assert refusal.value.schema_path == "/properties/a/$ref"


# ------------------------------------------------------------------------------------------ input


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        ({}, ["/city"]),
        ({"city": 1}, ["/city"]),
        ({"city": "x", "at": {"lat": "north"}}, ["/at/lat"]),
        ({"city": "x", "more": 1}, [""]),
        ([1], [""]),
        ("text", [""]),
        (5, [""]),
    ],
)
async def test_wrong_arguments_are_returned_not_raised(value, pointers):
    result = await echo().execute(value)
    assert isinstance(result, ValidationError)
    assert stated(result) == ("echo", "input", pointers)
    assert result.value == value
    assert await echo().execute({"city": "Rome"}) == {"city": "Rome"}, "the next call is unharmed"


async def test_cyclic_arguments_name_the_path():
    value = {"city": "x", "at": {}}
    value["at"]["again"] = value
    result = await echo(input_schema={"type": "object", "properties": {"city": {"type": "string"}}}).execute(value)
    assert isinstance(result, ValidationError)
    assert all(issue.pointer.startswith("/at/again") for issue in result.issues)


@pytest.mark.parametrize("text", ['{"city": "x"', '{"city": x}', "{'city': 'x'}", '{"city": "x"} tail', "nonsense"])
async def test_broken_text_is_a_validation_error_caused_by_the_decode_error(text):
    result = await echo().execute_json(text)
    assert isinstance(result, ValidationError)
    assert (result.tool_id, result.phase) == ("echo", "input")
    cause = result.__cause__
    assert isinstance(cause, DecodeError)
    assert 0 <= cause.offset <= len(text)
    assert cause.line == 1
    assert cause.column == cause.offset + 1


@pytest.mark.parametrize("text", ["", "  \n", b""])
async def test_empty_text_is_an_empty_object(text):
    result = await echo(input_schema={"type": "object"}).execute_json(text)
    assert result == {}


def test_truncated_text_says_that_it_is_incomplete():
    with pytest.raises(DecodeError) as refusal:
        Validator(True).decode('{"a": [1, 2')
    assert refusal.value.is_incomplete
    assert refusal.value.offset == 11
    with pytest.raises(DecodeError) as refusal:
        Validator(True).decode('{"a":\n  nope}')
    assert (refusal.value.offset, refusal.value.line, refusal.value.column) == (9, 2, 4)
    assert not refusal.value.is_incomplete


async def test_raises_and_execute_or_raise_raise_what_execute_returns():
    for call in (echo().execute_or_raise({}), echo().execute({}, raises=True), echo().execute_json("{}", raises=True)):
        with pytest.raises(ValidationError) as refusal:
            await call
        assert stated(refusal.value) == ("echo", "input", ["/city"])


# -------------------------------------------------------------------------------- the other phases


async def test_output_that_its_schema_refuses_keeps_the_value():
    tool = echo(output_schema={"type": "object", "properties": {"city": {"const": "Rome"}}})
    result = await tool.execute({"city": "Oslo"})
    assert isinstance(result, ValidationError)
    assert stated(result) == ("echo", "output", ["/city"])
    assert result.value == {"city": "Oslo"}


async def test_request_context_that_its_schema_refuses():
    tool = echo(request_context_schema={"type": "object", "required": ["tenant"]})
    result = await tool.execute({"city": "Rome"}, {"request_context": {"password": "hunter2"}})
    assert isinstance(result, ValidationError)
    assert stated(result) == ("echo", "request_context", ["/tenant"])
    assert "hunter2" not in str(result)


async def test_resume_data_that_its_schema_refuses():
    tool = echo(resume_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}})
    result = await tool.execute({"city": "Rome"}, {"resume_data": {"ok": "yes"}})
    assert isinstance(result, ValidationError)
    assert stated(result) == ("echo", "resume", ["/ok"])


async def test_suspension_and_a_payload_that_its_schema_refuses():
    async def body(input, context):
        context.suspend(input)

    tool = create_tool(id="s", description="d", suspend_schema={"type": "object", "required": ["why"]}, execute=body)
    with pytest.raises(ToolSuspended) as suspension:
        await tool.execute({"why": "ask"})
    assert suspension.value.payload == {"why": "ask"}
    result = await tool.execute({})
    assert isinstance(result, ValidationError)
    assert stated(result) == ("s", "suspend", ["/why"])


# ---------------------------------------------------------------------------------------- the body


class BodyError(Exception):
    pass


async def test_exception_of_the_body_propagates_unchanged():
    raised = BodyError("boom")

    async def body(input):
        raise raised

    with pytest.raises(BodyError) as caught:
        await echo(execute=body).execute({"city": "Rome"})
    assert caught.value is raised


def test_exception_of_a_sync_body_propagates_unchanged():
    def body(input):
        raise BodyError("boom")

    with pytest.raises(BodyError):
        echo(execute=body).execute_sync({"city": "Rome"})


async def test_tool_without_a_body_is_not_executable():
    tool = create_tool(id="definition", description="d", input_schema=PLACE)
    with pytest.raises(ToolNotExecutableError) as refusal:
        await tool.execute({"city": "Rome"})
    assert refusal.value.tool_id == "definition"


async def test_timeout_names_the_tool_and_cancels_the_body():
    ended = asyncio.Event()

    async def body(input):
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(ToolTimeoutError) as refusal:
        await echo(execute=body, timeout=0.01).execute({"city": "Rome"})
    assert refusal.value.tool_id == "echo"
    assert ended.is_set()


async def test_abort_names_the_tool_and_cancels_the_body():
    controller = AbortController()

    async def body(input):
        controller.abort("enough")
        await asyncio.sleep(60)

    with pytest.raises(ToolAbortedError) as refusal:
        await echo(execute=body).execute({"city": "Rome"}, {"abort_signal": controller.signal})
    assert refusal.value.tool_id == "echo"


# ------------------------------------------------------------------------------------ the messages


async def test_secrets_stand_in_no_message_and_no_issue_shows_a_value():
    result = await echo(show_data=True).execute({"city": 1, "apiKey": "sk-123", "note": "visible"})
    assert isinstance(result, ValidationError)
    assert "sk-123" not in str(result)
    assert "visible" not in "".join(issue.message for issue in result.issues)
    hidden = await echo(show_data=False).execute({"city": 1, "note": "visible"})
    assert "visible" not in str(hidden)


def test_every_error_is_a_toolhead_error_and_pickles():
    with pytest.raises(SchemaError) as schema:
        Validator({"type": "nope"})
    with pytest.raises(DecodeError) as decode:
        Validator(True).decode("nope")
    with pytest.raises(ValidationError) as validation:
        Validator(PLACE).validate({})
    errors = [
        schema.value,
        decode.value,
        validation.value,
        ToolError("m", tool_id="t"),
        ToolSuspended({"a": 1}, tool_id="t"),
    ]
    for error in errors:
        assert isinstance(error, ToolheadError)
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
    assert all(isinstance(error, ValueError) for error in errors[:3])
