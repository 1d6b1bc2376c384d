"""The official JSON Schema test suite, through Python objects, through JSON bytes and through a stream at several cuts.

One test is one file of the suite in one draft. `mandatory` and `optional` files leave `format` an annotation, `format`
files assert it, and so does `optional/format-assertion.json`, whose meta-schema asks for it. Remote schemas come from
the suite through `registry=`. A schema that does not compile fails all tests of its group.

Known failures stand in `known_failures.json` as {"test": id, "reason": why}; one that passes fails the run.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urldefrag

import pytest

from shared_data import SHARED, absent
from toolhead import ValidationError, Validator

HERE = Path(__file__).resolve().parent
OFFICIAL = HERE / "official"
SUITE = SHARED / "corpora" / "test-suite"
DRAFTS = ("draft4", "draft6", "draft7", "draft2019-09", "draft2020-12", "v1")
IN_REPOSITORY = ("draft7", "draft2020-12")
KNOWN_FAILURES = {row["test"]: row["reason"] for row in json.loads((HERE / "known_failures.json").read_bytes())}


class SuiteFile(NamedTuple):
    draft: str
    kind: str
    path: Path
    name: str

    @property
    def asserts_format(self) -> bool:
        return self.kind == "format" or self.path.name == "format-assertion.json"


def _kind(folder: str) -> str:
    if folder == ".":
        return "mandatory"
    if folder in {"format", "optional/format"}:
        return "format"
    return "proposals" if folder.startswith("proposals") else "optional"


def _files(root: Path, draft: str) -> Iterator[SuiteFile]:
    top = root / "tests" / draft
    for path in sorted(top.rglob("*.json")):
        relative = path.relative_to(top)
        yield SuiteFile(draft, _kind(relative.parent.as_posix()), path, f"{draft}/{relative.as_posix()}")


def _suite() -> Iterator[SuiteFile]:
    for draft in IN_REPOSITORY:
        yield from _files(OFFICIAL, draft)
    if SUITE.exists():
        for draft in DRAFTS:
            for file in _files(SUITE, draft):
                # Proposals are not part of any dialect that the product promises.
                if file.kind != "proposals" and not (draft in IN_REPOSITORY and file.kind == "mandatory"):
                    yield file


def _parameters() -> list[Any]:
    parameters = [pytest.param(file, id=file.name) for file in _suite()]
    if not SUITE.exists():
        skip = pytest.mark.skip(reason=absent(SUITE))
        parameters.append(pytest.param(None, id="other-drafts-optional-format", marks=skip))
    return parameters


def _remotes() -> dict[str, Any]:
    base = (SUITE if SUITE.exists() else OFFICIAL) / "remotes"
    return {
        f"http://localhost:1234/{path.relative_to(base).as_posix()}": json.loads(path.read_bytes())
        for path in base.rglob("*.json")
    }


REMOTES = _remotes()


def _retrieve(uri: str) -> Any:
    return REMOTES[urldefrag(uri).url]  # KeyError is a LookupError: not found


def _by_objects(validator: Validator, data: Any) -> bool:
    verdict = validator.is_valid(data)
    issues = validator.issues(data)
    assert verdict is (issues == []), f"is_valid says {verdict}, issues() lists {issues}"
    return verdict


def _by_bytes(validator: Validator, data: Any) -> bool:
    text = json.dumps(data, ensure_ascii=False).encode()
    verdict = validator.is_valid_json(text)
    try:
        validator.decode(text)
    except ValidationError:
        decoded = False
    else:
        decoded = True
    assert verdict is decoded, f"is_valid_json says {verdict}, decode {decoded}"
    return verdict


def _by_stream(validator: Validator, data: Any) -> bool:
    text = json.dumps(data, ensure_ascii=False).encode()
    verdicts = []
    for size in (1, 3, 16, len(text)):
        stream = validator.stream()
        states = {stream.push(text[at : at + size]) for at in range(0, len(text), size)}
        try:
            stream.finish()
        except ValidationError:
            verdicts.append(False)
            assert "certain" not in states, f"certain on the way, refused at the end, in pieces of {size}"
        else:
            verdicts.append(True)
            assert "rejected" not in states, f"rejected on the way, accepted at the end, in pieces of {size}"
    assert len(set(verdicts)) == 1, f"the cuts change the verdict: {verdicts}"
    return verdicts[0]


def _verdict(run: Callable[[], bool]) -> bool | str:
    # Whatever goes wrong is that test's answer; the others of the file are still asked.
    try:
        return run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("ask", [_by_objects, _by_bytes, _by_stream], ids=["objects", "bytes", "stream"])
@pytest.mark.parametrize("file", _parameters())
def test_official_suite(file: SuiteFile, ask: Callable[[Validator, Any], bool]) -> None:
    wrong, unexpected = [], []
    for group in json.loads(file.path.read_bytes()):
        try:
            validator = Validator(group["schema"], dialect=file.draft, formats=file.asserts_format, registry=_retrieve)
        except Exception as error:
            wrong.append(f"{group['description']}: does not compile: {error}")
            continue
        for test in group["tests"]:
            name = f"{file.name} | {group['description']} | {test['description']}"
            got = _verdict(lambda: ask(validator, test["data"]))  # noqa: B023 - called at once
            if got is test["valid"]:
                if name in KNOWN_FAILURES:
                    unexpected.append(name)
            elif name not in KNOWN_FAILURES:
                wrong.append(f"{name}: want {test['valid']}, got {got}")
    assert wrong == []
    assert unexpected == [], "passes now: take it out of known_failures.json"


def test_known_failures_name_tests_of_the_suite() -> None:
    if not KNOWN_FAILURES:
        return
    names = {
        f"{file.name} | {group['description']} | {test['description']}"
        for file in _suite()
        for group in json.loads(file.path.read_bytes())
        for test in group["tests"]
    }
    assert KNOWN_FAILURES.keys() - names == set()
    assert all(KNOWN_FAILURES.values()), "each with its reason"
