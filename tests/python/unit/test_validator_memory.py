"""What a validator keeps: nothing of the data it saw, however different that is each time.

Names that texts repeat are remembered, up to a bound; the first calls fill it.
"""

import contextlib
import gc
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from toolhead import ToolheadError, Validator

ANYTHING = Validator(True)
PERSON = Validator(
    {
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^x"},
            "tags": {"type": "array", "uniqueItems": True},
            "seen": {"default": [1]},
        },
        "additionalProperties": {
            "anyOf": [
                {"type": "integer"},
                {"type": "object", "properties": {"kind": {"type": "string", "default": "plain"}}},
            ]
        },
    }
)


def valid(number: int) -> dict[str, Any]:
    return {"id": f"x{number}", f"name {number}": {f"member {number}": number}, f"other {number}": number}


def invalid(number: int) -> dict[str, Any]:
    return {"id": f"y{number}", "tags": [str(number)] * 2, f"name {number}": f"text {number}"}


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


def pushed(number: int) -> Any:
    stream = PERSON.stream()
    whole = text(valid(number)).decode()
    for at in range(0, len(whole), 7):
        stream.push(whole[at : at + 7])
    return stream.value


OPERATIONS: dict[str, Callable[[int], Any]] = {
    "decode without a schema": lambda number: ANYTHING.decode(text(valid(number))),
    "decode": lambda number: PERSON.decode(text(valid(number))),
    "decode, refused": lambda number: PERSON.decode(text(invalid(number))),
    "decode, broken": lambda number: PERSON.decode(b'{"name %d": ' % number),
    "is_valid": lambda number: PERSON.is_valid(valid(number)),
    "is_valid, refused": lambda number: PERSON.is_valid(invalid(number)),
    "is_valid_json": lambda number: PERSON.is_valid_json(text(valid(number))),
    "validate": lambda number: PERSON.validate(valid(number)),
    "validate, refused": lambda number: PERSON.validate(invalid(number)),
    "issues": lambda number: [(issue.path, issue.message) for issue in PERSON.issues(invalid(number))],
    "stream": pushed,
    "compile": lambda number: Validator({"properties": {f"name {number}": {"default": {}}}}).decode("{}"),
    "compile, refused": lambda number: Validator({"properties": {f"name {number}": {"type": number}}}),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_leave_nothing_behind(name: str) -> None:
    def run(first: int, last: int) -> None:
        for number in range(first, last):
            with contextlib.suppress(ToolheadError):
                OPERATIONS[name](number)

    run(0, 3_000)
    gc.collect()
    before = sys.getallocatedblocks()
    run(3_000, 5_000)
    gc.collect()
    # One name a run would be 2,000 blocks.
    assert sys.getallocatedblocks() - before < 200


def test_the_keys_of_a_schema_live_as_long_as_its_validator() -> None:
    """Instances are matched by the schema's own keys, which a reader with a memory hands out again."""
    key, other = json.loads('["city", "city"]')
    assert key is not other
    before = sys.getrefcount(key)
    validator = Validator({"type": "object", "properties": {key: {"type": "string"}}})
    assert sys.getrefcount(key) > before
    assert validator.is_valid({key: "Bergen"})
    assert validator.is_valid({other: "Bergen"})
    assert not validator.is_valid({key: 5})
    assert not validator.is_valid({other: 5})
    assert validator.decode(b'{"city": "Bergen"}') == {"city": "Bergen"}
    del validator
    assert sys.getrefcount(key) == before
