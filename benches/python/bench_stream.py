"""Arguments that arrive in pieces: a current value after every delta, with and without a schema at work."""

import pytest
from cases import ORDER, ORDER_ARGUMENTS, text

from toolhead import InputStream, Validator

SCHEMAS = {"plain": None, "schema": Validator(ORDER)}


def _deltas(size):
    whole = text(ORDER_ARGUMENTS).decode()
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def _read(validator, deltas, take):
    stream = InputStream(validator)
    for delta in deltas:
        stream.push(delta)
        take(stream)
    return stream.finish()


@pytest.mark.parametrize("size", [4, 16, 64])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_value_after_each_delta(benchmark, schema, size):
    assert benchmark(_read, SCHEMAS[schema], _deltas(size), lambda stream: stream.value) == ORDER_ARGUMENTS


@pytest.mark.parametrize("size", [4, 16, 64])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_changes_after_each_delta(benchmark, schema, size):
    assert benchmark(_read, SCHEMAS[schema], _deltas(size), lambda stream: stream.changes()) == ORDER_ARGUMENTS
