"""Data-driven tests: whoever asks for one of the fixtures below gets one test for each item of the data.

    fixture               data (option, default in the shared data)                       narrowed by
    vector                golden vectors of Mastra (--vectors, vectors/)                   @pytest.mark.areas("...")
    partial_json_vector   prefixes of JSON texts (--vectors, vectors/)
    incremental_vector    earliest certain verdicts (--vectors, vectors/)
    stream                (path, sidecar) of a provider stream (--streams, streams/)       @pytest.mark.apis("...")
    case                  a public report (--cases, cases/public-reports.jsonl)            @pytest.mark.kinds("...")

A test about single items names them: `@pytest.mark.ids("pr-115")`.

The options take any folder or file of the same formats. Absent data gives one skipped test a function, never silence.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shared_data import BINDING, SHARED, absent, read_cases, read_streams, read_vectors

Item = tuple[str, str, Any]
"""Test id, the property that the narrowing mark looks at, the value of the fixture."""


class DataSet(NamedTuple):
    option: str
    default: Path
    mark: str | None
    read: Callable[[Path], Iterator[Item]]


def _mastra(folder: Path) -> Iterator[Item]:
    for vector in read_vectors(folder, "mastra-vectors/1"):
        yield vector["name"], vector["area"], vector


def _by_id(form: str) -> Callable[[Path], Iterator[Item]]:
    return lambda folder: ((vector["id"], "", vector) for vector in read_vectors(folder, form))


def _streams(folder: Path) -> Iterator[Item]:
    for path, sidecar in read_streams(folder):
        yield path.name, sidecar["api"], (path, sidecar)


def _cases(path: Path) -> Iterator[Item]:
    for case in read_cases(path):
        yield case["id"], case["kind"], case


VECTORS = SHARED / "vectors"
DATA = {
    "vector": DataSet("--vectors", VECTORS, "areas", _mastra),
    "partial_json_vector": DataSet("--vectors", VECTORS, None, _by_id("partial-json-vectors/1")),
    "incremental_vector": DataSet("--vectors", VECTORS, None, _by_id("incremental-schema-vectors/1")),
    "stream": DataSet("--streams", SHARED / "streams", "apis", _streams),
    "case": DataSet("--cases", SHARED / "cases" / "public-reports.jsonl", "kinds", _cases),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("toolhead")
    group.addoption("--vectors", metavar="DIR", type=Path, help="run the vector tests over this folder")
    group.addoption("--streams", metavar="DIR", type=Path, help="run the stream tests over this folder")
    group.addoption("--cases", metavar="FILE", type=Path, help="run the case tests over this file")
    group.addoption("--soak", metavar="N", type=int, default=3_000, help="how many calls the soak test makes")


def pytest_configure(config: pytest.Config) -> None:
    for data in DATA.values():
        given = config.getoption(data.option)
        if given is not None and not given.exists():
            raise pytest.UsageError(f"{data.option}: {given} does not exist")
        if data.mark:
            config.addinivalue_line("markers", f"{data.mark}(*names): the part of {data.option} a test is about")
    config.addinivalue_line("markers", "ids(*names): the items of the data, by id, that a test is about")


def pytest_report_header() -> str:
    if SHARED.is_dir():
        return f"shared data: {SHARED}"
    return f"shared data: ABSENT ({SHARED}): vectors, streams, cases, corpora are skipped (set TOOLHEAD_SHARED)"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for fixture in DATA.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(fixture, _parameters(metafunc, DATA[fixture]))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """How many golden vectors of each area hold, differ on purpose, or were not run."""
    counts: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            # Properties travel from the workers of a distributed run, prints do not.
            for area, kind in (str(value).split() for name, value in report.user_properties if name == "vector"):
                counts.setdefault(area, Counter())["failed" if outcome == "failed" else kind] += 1
    if not counts:
        return
    source = config.getoption("--vectors") or VECTORS
    given = Counter(area for _, area, _ in _mastra(source))
    binding = Counter(area for _, area, vector in _mastra(source) if vector["parity"] in BINDING)
    terminalreporter.section("golden vectors by area")
    terminalreporter.write_line(f"{'':28} passed  diverged  not run")
    for area in [*sorted(given), "all"]:
        whole = area == "all"
        count = sum(counts.values(), Counter()) if whole else counts.get(area, Counter())
        left = (given.total() if whole else given[area]) - count.total()
        missed = (binding.total() if whole else binding[area]) - count.total()
        line = f"{area:28} {count['matching']:6}  {count['diverging']:8}  {left:7}"
        line += f"  (information: {left - missed})" if left - missed else ""
        line += f"  {count['failed']} FAIL" if count["failed"] else ""
        terminalreporter.write_line(line)


def _parameters(metafunc: pytest.Metafunc, data: DataSet) -> list[Any]:
    source = metafunc.config.getoption(data.option) or data.default
    if not source.exists():
        return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason=absent(source)))]
    mark = data.mark and metafunc.definition.get_closest_marker(data.mark)
    ids = metafunc.definition.get_closest_marker("ids")
    items = [
        item for item in data.read(source) if (not mark or item[1] in mark.args) and (not ids or item[0] in ids.args)
    ]
    if not items:
        nothing = f"{source} holds nothing that this test is about"
        return [pytest.param(None, id="none", marks=pytest.mark.skip(reason=nothing))]
    return [pytest.param(value, id=name) for name, _, value in items]
