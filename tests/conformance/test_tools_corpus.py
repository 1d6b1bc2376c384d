"""The corpus of real tool schemas: 715 tools, 5,697 verdicts, by Python objects and by JSON bytes.

Four independent implementations agree on every verdict; `format` is an annotation, as the dialect has it.
"""

import json
from typing import Any

import pytest

from shared_data import SHARED, absent, read_cases
from toolhead import ValidationError, Validator

CORPUS = SHARED / "corpora" / "tools" / "tools.jsonl"
if not CORPUS.exists():
    pytest.skip(absent(CORPUS), allow_module_level=True)
TOOLS = list(read_cases(CORPUS))


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize("tool", TOOLS, ids=[tool["id"] for tool in TOOLS])
def test_verdicts_of_tool(tool: dict[str, Any]) -> None:
    validator = Validator(tool["schema"], formats=False)
    for value in tool["valid"]:
        assert validator.is_valid(value)
        assert validator.issues(value) == []
        assert validator.is_valid_json(_text(value))
        # Defaults are filled in on both roads; without any, decoding is json.loads.
        assert validator.decode(_text(value)) == validator.validate(value)
        assert Validator(True).decode(_text(value)) == value
    for value in tool["invalid"]:
        assert not validator.is_valid(value)
        assert not validator.is_valid_json(_text(value))
        found = validator.issues(value)
        assert found
        with pytest.raises(ValidationError) as refusal:
            validator.decode(_text(value))
        assert [(i.pointer, i.keyword) for i in refusal.value.issues] == [(i.pointer, i.keyword) for i in found]


def test_corpus_is_whole() -> None:
    assert len(TOOLS) == 715
    assert sum(len(tool["valid"]) + len(tool["invalid"]) for tool in TOOLS) == 5697
