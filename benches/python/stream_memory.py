"""Memory of arguments while they arrive, beside that of the finished value, and of a million streams one after another.

    python benches/python/stream_memory.py                 # the table
    python benches/python/stream_memory.py --streams 1000000

Each figure comes from a process of its own. `python` is what the interpreter has allocated at the worst moment
(tracemalloc), `process` how much the resident set has grown by then (Linux), in bytes and as multiples of the same for
the value, which `json.loads` makes of the text. Limit: 2.5 times the value plus the unfinished token.
"""

import argparse
import contextlib
import ctypes
import gc
import json
import multiprocessing
import resource
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from toolhead import InputStream, ToolheadError, Validator

LIMIT = 2.5
DELTA = 16
ROW = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "tags": {"type": "array", "maxItems": 8}},
    "required": ["id", "name", "tags"],
}
SCHEMA = {
    "type": "object",
    "properties": {"content": {"type": "string"}, "rows": {"type": "array", "items": ROW}},
    "additionalProperties": False,
}


def one_string(size: int) -> str:
    """One long string, as of a file to write; the last line is not Latin, so the string is widened late."""
    line = 'def f(x):\\n    return "x" * 3\\n'
    content = line * (size // len(line)) + "漢"
    return json.dumps({"content": content}, ensure_ascii=False)


def one_ascii_string(size: int) -> str:
    """One long string of ASCII characters."""
    return json.dumps({"content": "plain text \n" * (size // 13)})


def rows(size: int) -> str:
    """Many small values."""
    row = {"id": 0, "name": "item 0", "tags": ["a", "b"]}
    return json.dumps({"rows": [{**row, "id": at, "name": f"item {at}"} for at in range(size // 60)]})


SHAPES = {"ascii": one_ascii_string, "string": one_string, "rows": rows}


def deltas(text: str) -> Iterator[str]:
    return (text[at : at + DELTA] for at in range(0, len(text), DELTA))


def parsed(text: str) -> Any:
    return json.loads(text)


def live(text: str) -> Any:
    stream = InputStream()
    for delta in deltas(text):
        stream.push(delta)
    return stream.finish()


def judged(text: str) -> Any:
    stream = Validator(SCHEMA).stream()
    for delta in deltas(text):
        stream.push(delta)
    return stream.finish()


def changes(text: str) -> Any:
    stream = InputStream()
    for delta in deltas(text):
        stream.push(delta)
        stream.changes()
    return stream.finish()


WAYS: dict[str, Callable[[str], Any]] = {"live": live, "schema": judged, "changes": changes}


def start_peak() -> int:
    """The resident set now; from here on its peak is watched."""
    ctypes.CDLL(None).malloc_trim(0)  # room left over from making the text would hide growth
    Path("/proc/self/clear_refs").write_text("5")
    return resident()


def peak_resident() -> int:
    """Greatest resident set since `start_peak`, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _measured(way: Callable[[str], Any], shape: str, size: int, traced: bool, results: Any) -> None:
    text = SHAPES[shape](size)
    way(SHAPES[shape](2_000))  # what is made once
    if traced:
        tracemalloc.start()
    before = start_peak()
    value = way(text)
    kept, peak = tracemalloc.get_traced_memory() if traced else (resident() - before, peak_resident() - before)
    results.put((kept, peak))
    del value


def measured(way: Callable[[str], Any], shape: str, size: int, *, traced: bool) -> tuple[int, int]:
    """(bytes kept, bytes at the worst moment)."""
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    process = context.Process(target=_measured, args=(way, shape, size, traced, results))
    process.start()
    found: tuple[int, int] = results.get()
    process.join()
    return found


def resident() -> int:
    """The resident set now, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def one_stream(at: int, validator: Validator, text: str) -> None:
    """A stream with or without a schema; its changes read at every delta, at the end or never; finished or dropped."""
    stream = validator.stream() if at & 1 else InputStream()
    reads = at >> 1 & 3
    for delta in deltas(text):
        stream.push(delta)
        if reads == 1:
            stream.changes()
    if reads == 2:
        stream.changes()
    if at >> 3 & 1:
        with contextlib.suppress(ToolheadError):
            stream.finish()
        _ = stream.issues, stream.completed, stream.snapshot()


def many(count: int) -> bool:
    """Streams one after another: whether they leave nothing behind."""
    validator = Validator(SCHEMA)
    row = '{"id": 1, "name": "a\\u00e9 and more", "tags": ["x", []]}'
    texts = [
        f'{{"rows": [{row}, {row}]}}',  # valid
        '{"content": "cut of',  # cut off
        '{"content": 1, "rows": [{"id": "x", "id": 2}]}',  # refused by the schema
        f'{{"rows": [{row}, "so far and on \\q"]}}',  # a string that is taken out again
        "nope",  # no JSON
    ]
    began = 0
    print(f"{'streams':>10}{'bytes resident':>18}{'blocks allocated':>18}")
    for step in range(11):
        for at in range(count // 10 if step else count // 100):
            one_stream(at // len(texts), validator, texts[at % len(texts)])
        gc.collect()
        blocks = sys.getallocatedblocks()
        began = began or blocks
        print(f"{step * count // 10:>10,}{resident():>18,}{blocks:>18,}", flush=True)
    holds = blocks - began < count // 1000
    print(f"{'holds' if holds else 'MISSED'}: {blocks - began:,} blocks more after {count:,} streams")
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000000,8000000")
    parser.add_argument("--streams", type=int, help="open and drop that many streams instead")
    options = parser.parse_args()
    if options.streams:
        sys.exit(not many(options.streams))
    print(f"{'shape':8}{'text':>12}{'way':>9}{'python: value':>15}{'peak':>13}{'':8}{'process: value':>15}{'peak':>13}")
    within = True
    for size in map(int, options.sizes.split(",")):
        for shape in SHAPES:
            python, _ = measured(parsed, shape, size, traced=True)
            process, _ = measured(parsed, shape, size, traced=False)
            for name, way in WAYS.items():
                _, traced = measured(way, shape, size, traced=True)
                _, seen = measured(way, shape, size, traced=False)
                within &= traced <= LIMIT * python and seen <= LIMIT * process
                print(
                    f"{shape:8}{size:>12,}{name:>9}{python:>15,}{traced:>13,}{traced / python:6.2f} x"
                    f"{process:>15,}{seen:>13,}{seen / process:6.2f} x"
                )
    print(f"{'holds' if within else 'MISSED'}: at most {LIMIT} times the value")


if __name__ == "__main__":
    main()
