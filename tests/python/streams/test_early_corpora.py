"""The schema at work while streaming agrees with the ordinary verdict: on the corpus of real tools at every prefix, on
the official suite through every way of cutting, and on the arguments of the recorded streams."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shared_data import REPOSITORY, SHARED, absent, read_cases
from toolhead import InputStream, SchemaError, ValidationError, Validator

CORPUS = SHARED / "corpora" / "tools" / "tools.jsonl"
SUITE = SHARED / "corpora" / "test-suite"
OFFICIAL = REPOSITORY / "tests" / "conformance" / "official"
DRAFTS = {"draft7": "draft7", "draft2019-09": "draft2019-09", "draft2020-12": "draft2020-12"}


def streamed(stream: InputStream, text: bytes, size: int) -> tuple[str, Sequence[str]]:
    """The last state, and every state on the way."""
    states = [stream.push(text[at : at + size]) for at in range(0, len(text), size)]
    return states[-1], states


def is_accepted(stream: InputStream) -> bool:
    try:
        stream.finish()
    except ValidationError as refusal:
        assert refusal.issues
        return False
    return True


def check(validator: Validator, value: Any, valid: bool, sizes: tuple[int, ...] = (1, 5, 1 << 20)) -> None:
    """The verdict of a stream, however it is cut, and that nothing certain is ever taken back."""
    text = json.dumps(value).encode()
    found = []
    for size in sizes:
        stream = validator.stream()
        last, states = streamed(stream, text, size)
        first = next((state for state in states if state != "open"), "open")
        if valid:
            assert "rejected" not in states, (text, stream.issues)
            assert stream.issues == []
        else:
            assert "certain" not in states, text
        if "rejected" in states:
            assert first == "rejected"
            assert last == "rejected"
            assert stream.issues
        if "certain" in states:
            assert set(states[states.index("certain") :]) <= {"certain", "complete"}
        assert is_accepted(stream) is valid, text
        found.append([(issue.offset, issue.pointer, issue.keyword, issue.message) for issue in stream.issues])
    assert all(issues == found[0] for issues in found), (text, found)
    if valid:
        # A string that is right where it stands is never read as something else.
        stream = validator.stream(repair=["double-encoding"])
        stream.push(text)
        assert is_accepted(stream), text
        assert stream.repairs == (), text


def tools() -> list[dict[str, Any]]:
    return list(read_cases(CORPUS)) if CORPUS.exists() else []


@pytest.mark.skipif(not CORPUS.exists(), reason=absent(CORPUS))
def test_streamed_verdict_of_every_tool_case() -> None:
    cases = 0
    for tool in tools():
        validator = Validator(tool["schema"], formats=False)
        for value in tool["valid"]:
            check(validator, value, True)
        for value in tool["invalid"]:
            check(validator, value, False)
            stream = validator.stream()
            # A refusal that nothing hides in an engine's pattern is known with the last byte at the latest.
            assert stream.push(json.dumps(value)) == "rejected", value
        cases += len(tool["valid"]) + len(tool["invalid"])
    assert cases == 5697


def suite_files() -> list[Any]:
    root = SUITE if SUITE.exists() else OFFICIAL
    files = [path for draft in DRAFTS for path in sorted((root / "tests" / draft).glob("*.json"))]
    return [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in files]


@pytest.mark.parametrize("path", suite_files())
def test_streamed_verdict_of_official_case(path: Path) -> None:
    sys.path.insert(0, str(REPOSITORY / "tests" / "conformance"))
    try:
        from test_official_suite import _retrieve
    finally:
        sys.path.pop(0)
    for group in json.loads(path.read_bytes()):
        validator = Validator(group["schema"], dialect=path.parent.name, formats=False, registry=_retrieve)
        for case in group["tests"]:
            if validator.is_valid(case["data"]) is not case["valid"]:
                continue  # a known failure of the ordinary driver, listed in its own test
            check(validator, case["data"], case["valid"])
            if not case["valid"]:
                stream = validator.stream()
                assert stream.push(json.dumps(case["data"]) + " ") == "rejected"


def test_streamed_verdict_of_recorded_call(stream: tuple[Path, dict[str, Any]]) -> None:
    _, sidecar = stream
    schemas = {tool["name"]: tool["schema"] for tool in sidecar.get("tools") or ()}
    for call in sidecar["tool_calls"]:
        if call["name"] not in schemas or not call["valid_json"]:
            continue
        try:
            validator = Validator(schemas[call["name"]])
        except SchemaError:
            assert sidecar["api"] == "google-generatecontent"  # types in capitals, as that API writes them
            continue
        text = call["arguments_text"].encode()
        valid = validator.is_valid_json(text)
        for size in (1, 16, len(text)):
            judged = validator.stream()
            _, states = streamed(judged, text, size)
            assert ("rejected" in states) is not valid
            assert is_accepted(judged) is valid
