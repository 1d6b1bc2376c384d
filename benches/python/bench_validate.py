"""Compile, check, explain, decode: one row a case."""

import pytest
from cases import INVALID, VALID, text

from toolhead import Validator


@pytest.mark.parametrize("name", VALID)
def test_compile(benchmark, name):
    benchmark(Validator, VALID[name][0])


@pytest.mark.parametrize("name", VALID)
def test_is_valid(benchmark, name):
    schema, value = VALID[name]
    assert benchmark(Validator(schema).is_valid, value)


@pytest.mark.parametrize("name", INVALID)
def test_is_valid_refuses(benchmark, name):
    schema, value = INVALID[name]
    assert not benchmark(Validator(schema).is_valid, value)


@pytest.mark.parametrize("name", INVALID)
def test_issues(benchmark, name):
    schema, value = INVALID[name]
    assert benchmark(Validator(schema).issues, value)


@pytest.mark.parametrize("name", VALID)
def test_decode(benchmark, name):
    schema, value = VALID[name]
    assert benchmark(Validator(schema).decode, text(value)) == value


@pytest.mark.parametrize("name", VALID)
def test_decode_without_schema(benchmark, name):
    value = VALID[name][1]
    assert benchmark(Validator(True).decode, text(value)) == value
