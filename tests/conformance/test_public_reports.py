"""Cases from public bug reports (`--cases FILE`) that ask the core alone: validate, compile_error, parse, partial.

The fields are described in the README beside the cases. What a case allows is taken as it stands: `also_ok` outcomes
pass, `valid: null` accepts any verdict or documented error, `time_limit_ms` bounds each call.
"""

import contextlib
import decimal
import enum
import json
import sys
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from toolhead import DecodeError, InputStream, SchemaError, ToolheadError, ValidationError, Validator

DIALECTS = {"4": "draft4", "6": "draft6", "7": "draft7", "2019-09": "draft2019-09", "2020-12": "draft2020-12"}


ASKED: list[str] | None = None
"""What the interpreter was asked for from outside while a schema is compiled: files and the network."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if ASKED is not None and event.partition(".")[0] in ("open", "os", "socket", "urllib", "subprocess"):
        ASKED.append(f"{event} {arguments}")


sys.addaudithook(_audit)


@contextlib.contextmanager
def _nothing_asked() -> Iterator[None]:
    global ASKED  # noqa: PLW0603  an audit hook can be told nothing else
    ASKED = []
    try:
        yield
        assert ASKED == []
    finally:
        ASKED = None


def _python(expression: str) -> Any:
    return eval(expression, {"decimal": decimal, "enum": enum, "uuid": uuid})


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON data, types included: 1, 1.0 and True are three values."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _flat(issues: Any) -> Iterator[Any]:
    for issue in issues:
        yield issue
        for branch in issue.causes:
            yield from _flat(branch)


def _issues_of_text(validator: Validator, text: str) -> list[Any]:
    try:
        validator.decode(text)
    except ValidationError as error:
        return list(error.issues)
    return []


@pytest.mark.kinds("validate")
def test_validate_case(case: dict[str, Any]) -> None:
    formats = case.get("assert_format", False)
    validator = Validator(case["schema"], dialect=DIALECTS[case["draft"]], formats=formats)
    is_python = "instance_py" in case
    instance = _python(case["instance_py"]) if is_python else case["instance"]
    text = None if is_python else case["instance_text"]
    assert set(case.get("must_not", ())) <= {"segfault", "hang"}
    if case["valid"] is None:
        with contextlib.suppress(ToolheadError):  # a documented error is an answer too
            assert validator.is_valid(instance) is (validator.issues(instance) == [])
        return
    for _ in range(case.get("repeat", 1)):
        started = time.perf_counter()
        assert validator.is_valid(instance) is case["valid"]
        found = validator.issues(instance)
        assert (found == []) is case["valid"]
        if text is not None:
            assert validator.is_valid_json(text) is case["valid"]
            assert validator.is_valid_json(text.encode()) is case["valid"]
            from_text = _issues_of_text(validator, text)
            assert [issue.pointer for issue in from_text] == [issue.pointer for issue in found]
        elapsed_ms = (time.perf_counter() - started) * 1000
        assert elapsed_ms < case.get("time_limit_ms", float("inf"))
    if "error_path" in case and not case["valid"]:
        acceptable = set(case.get("error_paths_ok", [case["error_path"]]))
        assert acceptable & {issue.pointer for issue in _flat(found)}


@pytest.mark.kinds("compile_error")
def test_compile_error_case(case: dict[str, Any]) -> None:
    assert set(case.get("must_not", ())) <= {"network access", "file access"}
    try:
        with _nothing_asked():
            validator = Validator(case["schema"], dialect=DIALECTS[case["draft"]])
    except SchemaError as error:
        if "schema_path" in case:
            assert error.schema_path == case["schema_path"]
        assert str(error)
        return
    assert "also_ok" in case, "compiles"
    # Each other outcome that a case allows refuses this value, by a verdict or by a documented error.
    with contextlib.suppress(ToolheadError):
        assert not validator.is_valid("ab")


@pytest.mark.kinds("parse")
@pytest.mark.parametrize("form", [str, bytes])
def test_parse_case(case: dict[str, Any], form: type) -> None:
    text = _python(case["text_py"]) if "text_py" in case else case["text"]
    if isinstance(text, str) and form is bytes:
        text = text.encode()
    elif isinstance(text, bytes) and form is str:
        text = text.decode()
    also_ok = case.get("also_ok", [])
    try:
        got = Validator(True).decode(text)
    except (DecodeError, ValidationError):
        assert case.get("error") or also_ok == "error"
        return
    if "value" in case:
        assert _same(got, case["value"])
    else:
        # A sentence among `also_ok` allows the value itself, a list names the values allowed.
        assert also_ok, "parsed, but an error was asked for"
        allowed = also_ok if isinstance(also_ok, list) else [json.loads(text)]
        assert any(_same(got, value) for value in allowed)


def _extends(before: Any, after: Any) -> bool:
    """Whether nothing that `before` shows is taken back in `after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and _extends(value, after[key]) for key, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) <= len(after) and all(map(_extends, before, after))
    if isinstance(before, str) and isinstance(after, str):
        return after.startswith(before)
    return _same(before, after)


@pytest.mark.kinds("partial")
def test_partial_case(case: dict[str, Any]) -> None:
    if "chunks" in case or "chunks_hex" in case:
        stream = InputStream()
        chunks = case.get("chunks") or [bytes.fromhex(chunk) for chunk in case["chunks_hex"]]
        for chunk, value in zip(chunks, case["values_after"], strict=True):
            stream.push(chunk)
            assert _same(stream.value, value)
    text = case["text"].encode() if "text" in case else bytes.fromhex(case["bytes_hex"])
    if case.get("error"):
        refused = InputStream()
        refused.push(text)
        with pytest.raises(DecodeError) as refusal:
            refused.finish()
        assert refusal.value.offset == case["error_offset"]
        return
    allowed = [case["value"], *case.get("also_ok", [])]
    for cut in [text, *(cut.encode() for cut in case.get("also_cut", []))]:
        whole = InputStream()
        whole.push(cut)
        assert any(_same(whole.value, value) for value in allowed)
        by_byte = InputStream()
        shown = []
        for byte in cut:
            by_byte.push(bytes([byte]))
            shown.append(by_byte.snapshot())
        assert _same(by_byte.value, whole.value)
        visible = [value for value in shown if isinstance(value, dict | list | str)]
        assert all(map(_extends, visible, visible[1:])), "something shown was taken back"
    if case.get("complete"):
        assert _same(whole.finish(), case["value"])
