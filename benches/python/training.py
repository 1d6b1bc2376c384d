"""What the profile of the release build counts: every kind of work of the core, on the data that services send.

    make profile

runs it on an instrumented build and keeps what was counted in `rust/bindings/release.profdata`. Schemas and documents
are those of the shared corpora, so that the branches are taken as often as in real data; without them it fails.
"""

import asyncio
import contextlib
import gc
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from cases import CALLS, CASES, TOOLS, repeat, text
from peers.harness import SHARED
from toolhead import InputStream, ValidationError, Validator

DOCUMENT_BYTES = 200_000
"""How much is read of the documents of one schema."""
BYTES_PER_SCHEMA = 20_000_000
"""How much text of each schema is decoded, over and over; the same number of values is checked. Bytes and not
seconds, so that two trainings count the same."""
ROUNDS_OF_TOOLS = 8
ROUNDS_OF_STREAMS = 2
ROUNDS_OF_CALLS = 20


def repeatedly(rounds: int, function: Callable[[Any], Any], arguments: list[Any]) -> None:
    """Call `function` with each argument so many times, once at least."""
    for _ in range(max(1, rounds)):
        for argument in arguments:
            with contextlib.suppress(ValidationError):
                function(argument)


def documents() -> Iterator[tuple[Any, list[Any]]]:
    """Every schema of the corpora with documents of its own."""
    for folder in sorted((SHARED / "corpora" / "blaze-e2e").iterdir()):
        if folder.is_dir():
            lines = (folder / "instances.jsonl").read_text(encoding="utf-8").splitlines()
            sizes = itertools.accumulate(map(len, lines))
            few = [line for line, size in zip(lines, sizes, strict=True) if size <= DOCUMENT_BYTES] or lines[:1]
            yield json.loads((folder / "schema.json").read_bytes()), [json.loads(line) for line in few]
    bench = SHARED / "corpora" / "jsonschema-rs-bench"
    for schema, document in (
        ("citm_catalog_schema", "citm_catalog"),
        ("geojson", "canada"),
        ("fhir.schema", "patient-example-d"),
        ("swagger", "kubernetes"),
        ("recursive_schema", "recursive_instance"),
    ):
        values = [json.loads((bench / f"{document}.json").read_bytes())]
        yield json.loads((bench / f"{schema}.json").read_bytes()), values


def broken(value: Any) -> Any:
    """The same document with members that no schema expects where it had others."""
    if isinstance(value, dict):
        return {name: [part] if number % 3 == 0 else broken(part) for number, (name, part) in enumerate(value.items())}
    return [broken(part) for part in value] if isinstance(value, list) else value


def validate() -> None:
    anything = Validator(True)
    for schema, values in documents():
        validator = Validator(schema)
        texts = [text(value) for value in values]
        rounds = BYTES_PER_SCHEMA // sum(map(len, texts))
        repeatedly(rounds, validator.is_valid, values)
        repeatedly(rounds, validator.decode, texts)
        repeatedly(rounds // 8, anything.decode, texts)
        repeatedly(rounds // 32, validator.is_valid_json, texts)
        repeatedly(rounds // 32, validator.issues, [broken(value) for value in values])
        repeatedly(10, Validator, [schema])


def tools() -> list[tuple[Validator, bytes]]:
    """The tool schemas: compile, check, decode, refuse, repair. Returns what streams are made of."""
    rows = [json.loads(line) for line in (SHARED / "corpora" / "tools" / "tools.jsonl").read_bytes().splitlines()]
    anything = Validator(True)
    streamed = []

    for _ in range(ROUNDS_OF_TOOLS):
        for row in rows:
            validator = Validator(row["schema"])
            texts = [text(value) for value in row["valid"]]
            repeatedly(5, validator.is_valid, row["valid"])
            repeatedly(5, validator.decode, texts)
            repeatedly(1, validator.validate, row["valid"])
            repeatedly(1, anything.decode, texts)
            repeatedly(3, validator.is_valid, row["invalid"])
            for value in row["invalid"]:
                read(validator.issues(value, limit=1))
                read(validator.issues(value))
                validator.repair(value)
                repeatedly(1, validator.decode, [text(value)])
    for row in rows:
        streamed += [(Validator(row["schema"]), text(value)) for value in row["valid"][:1]]
    return streamed


def read(issues: list[Any]) -> None:
    for issue in issues:
        _ = issue.path, issue.message, issue.keyword


def streams(of_tools: list[tuple[Validator, bytes]]) -> None:
    order = text(CASES["order"]["valid"])
    longer = [(None, order), (Validator(CASES["order"]["schema"]), order), (None, text({"content": PROGRAM * 20}))]

    for validator, whole in itertools.chain(*[[*of_tools, *longer]] * ROUNDS_OF_STREAMS):
        written = whole.decode()
        for size in (4, 16, 64):
            deltas = [written[start : start + size] for start in range(0, len(written), size)]
            for with_schema in (None, validator):
                with contextlib.suppress(ValidationError):
                    arrive(InputStream(with_schema), deltas)
        with contextlib.suppress(ValidationError):
            stream = InputStream(validator)
            stream.push_many([whole])
            stream.finish()


PROGRAM = 'def greet(name):\n    """Say \u201chello\u201d."""\n    print(f"Hello, {name}!\\n")\n'


def arrive(stream: InputStream, deltas: list[str]) -> None:
    for number, delta in enumerate(deltas):
        stream.push(delta)
        if number % 2:
            _ = stream.value
        else:
            for change in stream.changes():
                _ = change.op, change.path, change.value
    stream.finish()


async def calls() -> None:
    for name, tool in TOOLS.items():
        for _ in range(ROUNDS_OF_CALLS):
            await repeat(tool.execute, CASES[name]["valid"])
            await repeat(tool.execute_json, text(CASES[name]["valid"]))
            await asyncio.gather(*(tool.execute(CASES[name]["valid"]) for _ in range(CALLS)))
            await asyncio.gather(*(tool.execute(CASES[name]["invalid"]) for _ in range(CALLS // 100)))


if __name__ == "__main__":
    gc.disable()  # The collector would be counted with whatever happens to allocate.
    validate()
    streams(tools())
    asyncio.run(calls())
