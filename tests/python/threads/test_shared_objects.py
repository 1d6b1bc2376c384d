"""One compiled object used by many threads at once: same answers as alone, and nobody waits for ever."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolhead import InputStream, ValidationError, Validator, create_tool

THREADS = 8
ROUNDS = 200
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "uniqueItems": True},
        "size": {"type": "integer", "default": 3},
    },
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"tag": {"enum": ["a", "b", "c"]}},
}


def together(work):
    """Run `work(number)` in all threads, started at the same moment; the first exception is raised here."""
    barrier = threading.Barrier(THREADS)

    def start(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS), timeout=120))


def test_one_validator():
    validator = Validator(SCHEMA)

    def work(number):
        name = "abcdefgh"[number]
        for round_number in range(ROUNDS):
            assert validator.is_valid({"name": name, "tags": ["a", "b"]})
            assert not validator.is_valid({"name": name, "tags": ["a", "a"]})
            assert validator.decode(f'{{"name": "{name}"}}') == {"name": name, "size": 3}
            (issue,) = validator.issues({"name": name, "size": str(round_number)})
            assert issue.pointer == "/size"

    together(work)


def test_one_tool():
    async def body(input):
        await asyncio.sleep(0)
        return input["name"]

    tool = create_tool(id="t", description="d", input_schema=SCHEMA, execute=body)

    def work(number):
        async def calls():
            results = await asyncio.gather(*(tool.execute({"name": "abcdefgh"[number]}) for _ in range(ROUNDS)))
            assert set(results) == {"abcdefgh"[number]}
            assert isinstance(await tool.execute({}), ValidationError)

        asyncio.run(calls())

    together(work)


def test_one_stream_pushed_by_many_threads_takes_each_delta_whole():
    # Whose delta comes first is open; that each arrives once and unbroken is not.
    stream = InputStream()
    stream.push('{"text": "')

    def work(number):
        for _ in range(ROUNDS):
            stream.push("abcdefgh"[number])

    together(work)
    stream.push('"}')
    text = stream.finish()["text"]
    assert sorted(text) == sorted("abcdefgh" * ROUNDS)


def test_instance_changed_while_it_is_checked_gives_a_verdict_or_an_error():
    validator = Validator({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}})
    shared = {str(number): [number] for number in range(200)}

    def work(number):
        for round_number in range(ROUNDS):
            if number % 2:
                shared[f"{number}-{round_number}"] = list(range(round_number % 7))
                shared.pop(f"{number}-{round_number}", None)
            else:
                assert validator.is_valid(shared) in (True, False)

    together(work)


@pytest.mark.parametrize("form", ["object", "text"])
def test_compiling_in_many_threads(form):
    def work(number):
        for size in range(20):
            schema = {"type": "array", "minItems": size, "items": {"const": number}}
            validator = Validator(schema)
            value = [number] * size
            assert validator.is_valid(value) if form == "object" else validator.is_valid_json(str(value))

    together(work)
