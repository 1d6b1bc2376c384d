"""Arguments that arrive in pieces: a current value after every delta, with and without a schema at work."""

import pytest

from cases import CASES, text
from toolhead import InputStream, Validator

ORDER = CASES["order"]
VALIDATORS = {"plain": None, "schema": Validator(ORDER["schema"])}


def _deltas(size):
    whole = text(ORDER["valid"]).decode()
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def _read(validator, deltas, take):
    stream = InputStream(validator)
    for delta in deltas:
        stream.push(delta)
        take(stream)
    return stream.finish()


@pytest.mark.parametrize("size", [4, 16, 64])
@pytest.mark.parametrize("validator", VALIDATORS)
def test_value_after_each_delta(benchmark, validator, size):
    deltas = _deltas(size)
    assert benchmark(_read, VALIDATORS[validator], deltas, lambda stream: stream.value) == ORDER["valid"]


@pytest.mark.parametrize("size", [4, 16, 64])
@pytest.mark.parametrize("validator", VALIDATORS)
def test_changes_after_each_delta(benchmark, validator, size):
    deltas = _deltas(size)
    assert benchmark(_read, VALIDATORS[validator], deltas, lambda stream: stream.changes()) == ORDER["valid"]
