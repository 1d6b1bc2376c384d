"""The exception tree, the text of a failed validation, and what it never shows."""

import copy
import gc
import pickle
import re
import weakref

import pytest

from toolhead import (
    AlreadyResolvedError,
    DecodeError,
    Issue,
    NotSuspendedError,
    RunNotFoundError,
    SchemaError,
    ToolAbortedError,
    ToolError,
    ToolExecutionError,
    ToolheadError,
    ToolNotExecutableError,
    ToolNotFoundError,
    ToolSuspended,
    ToolTimeoutError,
    ValidationError,
    Validator,
    create_tool,
)
from toolhead.errors import secret_matcher, validation_message

OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}},
}


def failure(value, **options):
    return ValidationError(Validator(OBJECT).issues(value), value=value, **options)


def test_the_tree():
    for error in (SchemaError, DecodeError, ValidationError):
        assert issubclass(error, ToolheadError)
        assert issubclass(error, ValueError)
    for error in (
        ToolNotFoundError,
        ToolNotExecutableError,
        ToolTimeoutError,
        ToolAbortedError,
        ToolExecutionError,
        NotSuspendedError,
        AlreadyResolvedError,
        RunNotFoundError,
    ):
        assert issubclass(error, ToolError)
    assert issubclass(ToolError, ToolheadError)
    assert issubclass(ToolSuspended, ToolheadError)
    assert not issubclass(ToolSuspended, ToolError)


@pytest.mark.parametrize(
    "error",
    [
        SchemaError("broken", schema_path="/type", keyword="type"),
        DecodeError("cut", offset=3, line=1, column=4, is_incomplete=True),
        failure({"a": 1, "b": [1, "x"]}, phase="input", tool_id="t"),
        ToolSuspended({"p": 1}, tool_id="t", options={"label": "x"}),
        ToolTimeoutError("late", tool_id="t", tool_call_id="c", phase="execute"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_pickles(error):
    error.__cause__ = LookupError("why")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert {**again.__dict__} == {**error.__dict__}
    assert isinstance(again.__cause__, LookupError)


def test_pickles_without_what_cannot_be_pickled():
    unpicklable = {"a": lambda: 1}
    error = failure(unpicklable, phase="output")
    error.__cause__ = LookupError(lambda: 1)
    again = pickle.loads(pickle.dumps(error))
    assert again.value is None
    assert again.__cause__ is None
    assert [(issue.path, issue.message) for issue in again.issues] == [(i.path, i.message) for i in error.issues]


@pytest.mark.parametrize(
    ("phase", "first", "label"),
    [
        (
            "input",
            "Tool input validation failed for t. Please fix the following errors and try again:",
            "Provided arguments: ",
        ),
        ("output", "Tool output validation failed for t. The tool returned invalid output:", "Returned output: "),
        (
            "suspend",
            "Tool suspension data validation failed for t. Please fix the following errors and try again:",
            "Provided arguments: ",
        ),
        (
            "resume",
            "Tool resume data validation failed for t. Please fix the following errors and try again:",
            "Provided arguments: ",
        ),
        (
            "request_context",
            "Request context validation failed for t. Please fix the following errors and try again:",
            "Provided request context: ",
        ),
    ],
)
def test_frame(phase, first, label):
    error = failure({"a": 1, "b": [1, "x"]}, phase=phase, tool_id="t")
    lines = error.message.split("\n")
    assert lines[0] == first
    assert sorted(line.split(": ")[0] for line in lines[1:3]) == ["- a", "- b.1"]
    assert error.message.split("\n\n")[1].startswith(label + '{\n  "a": 1,')


def test_to_dict_and_tree():
    error = failure({"a": 1, "b": [1, "x"]})
    data = error.to_dict()
    assert list(data) == ["error", "message", "validationErrors"]
    assert error.error is True
    assert data["validationErrors"]["errors"] == []
    assert list(data["validationErrors"]["fields"]["b"]["fields"]) == ["1"]
    root = failure(5)
    assert len(root.validation_errors["errors"]) == 1
    assert "- root: " in root.message


def shown(value, **options):
    return validation_message([], phase="input", tool_id="t", value=value, **options).split("Provided arguments: ")[1]


def test_the_data_is_cut_at_200_characters():
    whole = '"' + "x" * 198 + '"'
    assert shown("x" * 198) == whole
    assert shown("x" * 199) == whole[:-1] + "x... (truncated)"
    assert len(shown({"k": ["y" * 50] * 100})) == 200 + len("... (truncated)")


def test_every_json_value_prints():
    assert shown(None) == "null"
    assert shown([]) == "[]"
    assert shown({}) == "{}"
    assert shown([True, 1.5, 10**30]) == "[\n  true,\n  1.5,\n  " + str(10**30) + "\n]"
    assert shown("ユーザ") == '"ユーザ"'
    assert shown("\ud800") == '"\\ud800"'
    assert shown(float("nan")) == "null"


def test_what_is_no_data_does_not_print():
    cyclic: list[object] = []
    cyclic.append(cyclic)
    for value in (cyclic, object(), {1: 2}, [object()]):
        assert shown(value) == "[Unable to serialize data]"


def test_show_data_off():
    message = validation_message([], phase="input", tool_id="t", value={"a": "visible"}, show_data=False)
    assert "visible" not in message
    assert "Provided" not in message


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "userPassword",
        "PASSWORD",
        "user_password",
        "passwd",
        "secret",
        "secretSauce",
        "clientSecret",
        "token",
        "accessToken",
        "access_token",
        "userTokens",
        "apikey",
        "apiKey",
        "api_key",
        "API_KEY",
        "x-api-key",
        "ApiKeys",
        "auth",
        "basicAuth",
        "authorization",
        "credential",
        "credentials",
        "cookie",
        "setCookie",
        "privateKey",
        "private_key",
    ],
)
def test_secret_keys(key):
    assert secret_matcher()(key)


@pytest.mark.parametrize(
    "key",
    [
        *[
            "author",
            "authorId",
            "authored",
            "tokenize",
            "max_tokens",
            "maxTokens",
            "token_count",
            "tokenLimit",
            "prompt_tokens",
            "secretary",
            "key",
            "keys",
            "public_key",
            "passage",
            "cookies_accepted_count_nothing",
            "monkey",
        ][:-2],
        "monkey",
    ],
)
def test_other_keys(key):
    assert not secret_matcher()(key)


def test_secrets_are_hidden_in_every_kind_and_at_every_depth():
    value = {"a": 1, "nested": [{"token": "hidden-1", "x": {"apiKey": {"deep": "hidden-2"}}}], "pin": "hidden-3"}
    for phase in ("input", "output", "suspend", "resume", "request_context", None):
        message = failure(value, phase=phase, tool_id="t", redact=["pin"]).message
        assert "hidden" not in message
        assert message.count("[REDACTED]") >= 1
    assert "hidden-3" in failure({"pin": "hidden-3", "a": 1}).message


def test_redaction_comes_before_the_cut():
    message = failure({"a": 1, "pad": "x" * 150, "token": "hidden" * 50}).message
    assert "hidden" not in message


def test_counts_are_shown():
    assert '"tokens": 12' in shown({"tokens": 12})
    assert "[REDACTED]" in shown({"tokens": ["abc"]})
    assert "[REDACTED]" in shown({"password": 12})


async def test_text_that_cannot_be_read_shows_no_secret():
    tool = create_tool(id="t", description="d", input_schema=OBJECT, execute=lambda value: value)
    hidden = await tool.execute_json('{"password": "hidden')
    assert "hidden" not in hidden.message
    harmless = await tool.execute_json('{"city": "London')
    assert "London" in harmless.message


def test_repr_shows_no_values():
    error = failure({"a": 1234567})
    assert "1234567" not in repr(error)
    assert "/a" in repr(error)
    assert error.value == {"a": 1234567}


def test_issue_texts_show_no_values():
    issues = Validator({"properties": {"a": {"enum": ["x"]}, "b": {"maxLength": 2}}}).issues(
        {"a": "hidden", "b": "hidden"}
    )
    assert all("hidden" not in issue.message for issue in issues)


def test_an_issue_can_be_made():
    issue = Issue(("a", 0), message="No.", keyword="build", value=5)
    assert (issue.path, issue.pointer, issue.message, issue.keyword, issue.value) == (
        ("a", 0),
        "/a/0",
        "No.",
        "build",
        5,
    )
    assert (issue.expected, issue.params, issue.schema_path, issue.causes) == ("", {}, "", ())
    assert pickle.loads(pickle.dumps(issue)) == issue


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((), {"message": "x"}, "path"),
        (((),), {}, "message"),
        (((),), {"message": "x", "because": "y"}, "because"),
        (((),), {"message": "x", "causes": [["no issue"]]}, "causes: expected Issue, got str"),
    ],
)
def test_an_issue_takes_what_it_has(arguments, options, said):
    with pytest.raises(TypeError, match=said):
        Issue(*arguments, **options)


def test_an_issue_is_a_value():
    found = Validator({"properties": {"a": {"anyOf": [{"type": "null"}, {"required": ["b"]}]}}}).issues({"a": {}})
    (issue,) = found
    again = Issue(issue.path, message=issue.message, keyword=issue.keyword, schema_path=issue.schema_path)
    assert issue == again
    assert hash(issue) == hash(again)
    assert issue != Issue(issue.path, message=issue.message, keyword=issue.keyword)
    assert issue != issue.message
    assert copy.deepcopy(issue).causes == issue.causes
    assert (str(issue), repr(issue)) == (f"{issue.message} at /a/b", f"Issue('/a/b', {issue.message!r})")
    with pytest.raises(AttributeError):
        issue.message = "another"
    with pytest.raises(TypeError):
        type("Another", (Issue,), {})


def test_an_issue_in_its_own_value_is_collected():
    class Mark:
        pass

    value = [Mark()]
    left = weakref.ref(value[0])
    value += Validator({"type": "object"}).issues(value)
    del value
    gc.collect()
    assert left() is None


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((), {}, "issues() missing 1 required argument: 'value'"),
        ((), {"limit": 1}, "issues() missing 1 required argument: 'value'"),
        ((1, 2, 3), {}, "issues() takes at most 2 arguments"),
        ((1,), {"value": 1}, "issues() got multiple values for argument 'value'"),
        ((1,), {"most": 1}, "issues() got an unexpected keyword argument 'most'"),
        ((1,), {"limit": "1"}, "integer"),
    ],
)
def test_issues_takes_a_value_and_a_limit(arguments, options, said):
    with pytest.raises(TypeError, match=re.escape(said)):
        Validator(False).issues(*arguments, **options)


def test_issues_are_as_many_as_asked_for():
    validator = Validator({"properties": {"a": False, "b": False}})
    value = {"a": 1, "b": 1}
    assert [len(validator.issues(value, limit)) for limit in (None, 0, 1, 2, 3)] == [2, 0, 1, 2, 2]
    assert validator.issues(limit=1, value=value) == validator.issues(value)[:1]


@pytest.mark.parametrize(
    ("schema", "value", "places"),
    [
        (
            {"properties": {"a": {"type": "string"}, "b": {"type": "object"}}},
            {"a": 1, "b": {"c": [{1}]}},
            ["/a", "/b/c/0"],
        ),
        ({"properties": {"a": {"type": "string"}}}, {"a": [{1}]}, ["/a", "/a/0"]),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1, "b": {1}}, ["", "/b"]),
        ({"prefixItems": [{"type": "string"}], "items": False}, [1, [{1}]], ["", "/0", "/1/0"]),
        ({"items": {"type": "string"}}, ["a", 1, {"b": {2: 3}}], ["/1", "/2", "/2/b"]),
    ],
)
def test_what_is_not_json_is_listed_beside_what_the_schema_refuses(schema, value, places):
    assert [issue.pointer for issue in Validator(schema).issues(value)] == places
