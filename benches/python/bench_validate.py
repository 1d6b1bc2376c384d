"""Compile, check, explain, decode: one row a case."""

import pytest

from cases import CASES, text
from toolhead import Validator


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture
def validator(case):
    return Validator(case["schema"])


def test_compile(benchmark, case):
    benchmark(Validator, case["schema"])


def test_is_valid(benchmark, validator, case):
    assert benchmark(validator.is_valid, case["valid"])


def test_is_valid_refuses(benchmark, validator, case):
    assert not benchmark(validator.is_valid, case["invalid"])


def test_issues(benchmark, validator, case):
    assert benchmark(validator.issues, case["invalid"])


def test_decode(benchmark, validator, case):
    assert benchmark(validator.decode, text(case["valid"])) == case["valid"]


def test_decode_without_schema(benchmark, case):
    assert benchmark(Validator(True).decode, text(case["valid"])) == case["valid"]
