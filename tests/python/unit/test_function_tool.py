"""`@tool`: schemas from a signature, texts from a docstring, and the function that is still one."""

import copy
import dataclasses
import enum
import functools
import inspect
import pickle
import sys
from importlib import import_module
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from toolhead import FunctionTool, SchemaError, Tool, ToolExecutionContext, ValidationError, tool
from toolhead.schema_sources.docstring import described


@dataclasses.dataclass
class Place:
    city: str
    country: str = "GB"


class Model(pydantic.BaseModel):
    place: Place
    n: int = pydantic.Field(ge=1)


class Unit(enum.Enum):
    C = "c"


@tool
async def weather(
    place: Place, unit: Literal["c", "f"] = "c", context: ToolExecutionContext | None = None
) -> dict[str, int]:
    """Get the weather.

    For any place.

    Args:
        place: Where to
            look.
        unit (str): The unit.
        context: Not in the schema.

    Returns:
        Temperatures.
    """
    assert isinstance(place, Place)
    assert context is None or isinstance(context, ToolExecutionContext)
    return {place.city: 1 if context else 0}


@tool(id="plus-one", run_sync_in="inline", redact=["pin"])
def plus(a: int, b: int = 1, /, *, times: int = 1) -> int:
    """Add."""
    return (a + b) * times


class Counter:
    def __init__(self, start=0):
        self.start = start

    @tool
    def add(self, n: int) -> int:
        """Add to the counter."""
        return self.start + n

    @tool
    async def add_later(self, n: int, context: ToolExecutionContext) -> int:
        """Add to the counter."""
        return self.start + n

    def __reduce__(self):
        return Counter, (self.start,)


async def test_what_is_read_from_the_function():
    assert isinstance(weather, Tool)
    assert weather.id == "weather"
    assert weather.description == "Get the weather.\n\nFor any place."
    schema = weather.input_json_schema
    assert list(schema["properties"]) == ["place", "unit"]
    assert schema["required"] == ["place"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["place"]["description"] == "Where to look."
    assert schema["properties"]["unit"] == {"enum": ["c", "f"], "description": "The unit.", "default": "c"}
    assert weather.output_json_schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert weather.input_schema == schema


async def test_calling_the_tool_and_calling_the_function():
    assert await weather.execute({"place": {"city": "x"}}) == {"x": 1}
    assert await weather.execute_json('{"place": {"city": "x"}, "unit": "f"}') == {"x": 1}
    assert await weather(Place("y")) == {"y": 0}
    refused = await weather.execute({"place": {"city": 5}, "extra": 1})
    assert {issue.pointer for issue in refused.issues} == {"/place/city", "/extra"} or len(refused.issues) == 2
    assert plus(1, 2, times=3) == 9
    assert plus.execute_sync({"a": 1}) == 2
    assert plus.execute_sync({"a": 1, "b": 2, "times": 2}) == 6
    assert plus.id == "plus-one"
    assert plus.redact == ("pin",)
    assert inspect.signature(plus).parameters.keys() == {"a", "b", "times"}
    assert plus.__wrapped__(1) == 2
    assert plus.__name__ == "plus"


async def test_methods():
    counter = Counter(10)
    assert counter.add(1) == 11
    assert counter.add.execute_sync({"n": 1}) == 11
    assert await counter.add_later.execute({"n": 2}) == 12
    assert Counter(1).add.execute_sync({"n": 1}) == 2
    assert Counter.add(counter, 5) == 15
    assert isinstance(Counter.add, FunctionTool)
    bound = tool(Counter.add.__wrapped__.__get__(counter))
    assert bound.execute_sync({"n": 1}) == 11


def test_partial_and_callables():
    def base(prefix: str, n: int) -> str:
        """Repeat."""
        return prefix * n

    made = tool(functools.partial(base, "ab"))
    assert made.id == "base"
    assert list(made.input_json_schema["properties"]) == ["n"]
    assert made.execute_sync({"n": 2}) == "abab"


def test_a_default_that_is_no_data_is_the_functions_own():
    marker = object()

    @tool
    def body(a: Any = marker, unit: Unit = Unit.C, place: Place | None = None) -> bool:
        """Check."""
        return a is marker and unit is Unit.C and place is None

    assert "default" not in body.input_json_schema["properties"]["a"]
    assert body.input_json_schema["properties"]["unit"]["default"] == "c"
    assert body.execute_sync({}) is True


def test_parameters_of_every_kind_of_source():
    @tool
    def body(model: Model, place: Place, count: Annotated[int, msgspec.Meta(ge=0)], anything) -> str:
        """Check."""
        assert isinstance(model, Model)
        assert isinstance(place, Place)
        return f"{model.n}{count}{anything}"

    arguments = {"model": {"place": {"city": "x"}, "n": 2}, "place": {"city": "y"}, "count": 3, "anything": [1]}
    assert body.execute_sync(arguments) == "23[1]"
    refused = body.execute_sync({**arguments, "count": -1, "model": {"place": {"city": "x"}, "n": 0}})
    assert sorted(issue.path for issue in refused.issues) == [("count",), ("model", "n")]


def test_definitions_of_one_name_do_not_mix():
    def one():
        class Node(msgspec.Struct):
            left: list["Node"] = []

        Node.__annotations__["left"] = list[Node]
        return Node

    class A(msgspec.Struct):
        inner: Place

    @tool
    def body(a: list[A], b: list[Place], c: list[Model]) -> int:
        """Check."""
        return len(a) + len(b) + len(c)

    place = {"city": "x"}
    arguments = {"a": [{"inner": place}], "b": [place], "c": [{"place": place, "n": 1}]}
    assert body.execute_sync(arguments) == 3
    assert set(body.input_json_schema["$defs"]) >= {"A", "Place", "Model"}


def test_a_refusal_of_the_owner_is_told_at_the_parameter():
    class Picky(pydantic.BaseModel):
        a: str

        @pydantic.field_validator("a")
        @classmethod
        def check(cls, value):
            raise ValueError("picky")

    @tool
    def body(picky: Picky) -> int:
        """Check."""
        return 1

    refused = body.execute_sync({"picky": {"a": "x"}})
    assert isinstance(refused, ValidationError)
    assert refused.issues[0].path == ("picky", "a")


def test_refusals():
    def no_text(a: int) -> int:
        return a

    def variadic(*args: int) -> int:
        """Text."""
        return 1

    def keywords(**kwargs: int) -> int:
        """Text."""
        return 1

    def unknown(a: object) -> int:
        """Text."""
        return 1

    def unresolved(a: "Nowhere") -> int:  # noqa: F821
        """Text."""
        return 1

    with pytest.raises(ValueError, match="description: expected one, in the docstring of no_text"):
        tool(no_text)
    assert tool(description="Here.")(no_text).description == "Here."
    for function in (variadic, keywords):
        with pytest.raises(TypeError, match="cannot be described"):
            tool(function)
    with pytest.raises(SchemaError, match="unknown: parameter a"):
        tool(unknown)
    with pytest.raises(SchemaError, match="unresolved: an annotation cannot be read"):
        tool(unresolved)
    for option in ("execute", "input_schema"):
        with pytest.raises(TypeError, match=f"{option}: is the function's own"):
            tool(**{option: 1})(no_text)
    with pytest.raises(TypeError, match="nonsense: no such option"):
        tool(description="d", nonsense=1)(no_text)


def test_the_output_is_checked_unless_told_otherwise():
    @tool
    def wrong() -> int:
        """Text."""
        return "x"  # type: ignore[return-value]

    @tool
    def nothing() -> None:
        """Text."""

    assert wrong.execute_sync({}).phase == "output"
    assert nothing.execute_sync({}) is None
    assert tool(output_schema=None)(wrong.__wrapped__).execute_sync({}) == "x"


def test_pickles_by_reference():
    assert pickle.loads(pickle.dumps(weather)) is weather
    assert pickle.loads(pickle.dumps(plus)) is plus
    again = pickle.loads(pickle.dumps(Counter(4).add))
    assert again.execute_sync({"n": 1}) == 5
    assert copy.deepcopy(weather) is weather
    undecorated = tool(id="other")(module_function)
    assert pickle.loads(pickle.dumps(undecorated)).id == "other"

    @tool
    def local(a: int) -> int:
        """Text."""
        return a

    with pytest.raises(pickle.PicklingError, match="local"):
        pickle.dumps(local)


def test_a_reference_is_followed_in_a_process_that_has_not_imported_its_module(tmp_path):
    (tmp_path / "toolmodule.py").write_text(
        "from toolhead import tool\n\n@tool\ndef f(a: int) -> int:\n    'F.'\n    return a\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        pickled = pickle.dumps(import_module("toolmodule").f)
        assert pickle.loads(pickled).id == "f"
        del sys.modules["toolmodule"]
        assert pickle.loads(pickled).execute_sync({"a": 1}) == 1
        with pytest.raises(ModuleNotFoundError):
            pickle.loads(pickled.replace(b"toolmodule", b"othermodul"))
        with pytest.raises(AttributeError):
            pickle.loads(pickled.replace(b"\x01f", b"\x01g"))
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("toolmodule", None)


def module_function(a: int) -> int:
    """Text."""
    return a


def test_replace_keeps_the_function():
    changed = plus.replace(description="Other.")
    assert (changed.id, changed.description, changed(1)) == ("plus-one", "Other.", 2)


@pytest.mark.parametrize(
    ("docstring", "description", "texts"),
    [
        (None, "", {}),
        ("One line.", "One line.", {}),
        (
            """One.

            Args:
                a: First
                    goes on.
                b (int, optional): Second.
                *rest: Others.

            Returns:
                Nothing: at all.
            """,
            "One.",
            {"a": "First goes on.", "b": "Second.", "rest": "Others."},
        ),
        (
            """One.

            Parameters
            ----------
            a : int
                First
                goes on.
            b, c : str
                Both.

            Returns
            -------
            int
                Nothing.
            """,
            "One.",
            {"a": "First goes on.", "b": "Both.", "c": "Both."},
        ),
        (
            """One.

            :param a: First
                goes on.
            :param int b: Second.
            :returns: nothing
            """,
            "One.",
            {"a": "First goes on.", "b": "Second."},
        ),
        ("Note the args: they matter.", "Note the args: they matter.", {}),
    ],
)
def test_docstrings(docstring, description, texts):
    assert described(docstring) == (description, texts)
