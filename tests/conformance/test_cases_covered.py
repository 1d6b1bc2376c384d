"""Every public report is tested, or listed in `cases_elsewhere.json` with the reason why it is not."""

import json
from importlib import import_module
from pathlib import Path

from shared_data import read_cases, shared_path

HERE = Path(__file__).parent
ELSEWHERE: dict[str, str] = json.loads((HERE / "cases_elsewhere.json").read_bytes())
BY_KIND = {"validate", "compile_error", "parse", "partial"}
"""Kinds whose every case goes through one test (`test_public_reports.py`)."""


def ids_of_tests() -> set[str]:
    """The ids that tests of this folder name with `@pytest.mark.ids`."""
    return {
        name
        for path in sorted(HERE.glob("test_case_*.py"))
        for test in vars(import_module(f"conformance.{path.stem}")).values()
        for mark in getattr(test, "pytestmark", ())
        if mark.name == "ids"
        for name in mark.args
    }


def test_every_case_is_tested_or_listed_with_a_reason() -> None:
    cases = {case["id"]: case["kind"] for case in read_cases(shared_path("cases", "public-reports.jsonl"))}
    by_name = {name for name, kind in cases.items() if kind not in BY_KIND}
    tested = ids_of_tests()
    assert by_name - tested - ELSEWHERE.keys() == set(), "neither tested nor listed"
    assert tested & ELSEWHERE.keys() == set(), "tested, so not to be listed"
    assert (tested | ELSEWHERE.keys()) - by_name == set(), "no such case"
    assert all(len(reason) > 20 for reason in ELSEWHERE.values())
