"""What may stand where a schema is asked for: what it describes, what a body gets, what comes back."""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import sys
import typing
import uuid
from typing import Annotated, Any, Literal, NamedTuple

import attrs
import msgspec
import pydantic
import pydantic.dataclasses
import pytest
import typing_extensions

from toolhead import Issue, SchemaError, ValidationError, create_tool
from toolhead.schema_sources import resolve, to_json_data


class Struct(msgspec.Struct):
    city: str
    days: Annotated[int, msgspec.Meta(ge=1)] = 1


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str


@dataclasses.dataclass
class Data:
    city: str
    days: int = 1

    def __post_init__(self):
        if self.city == "nowhere":
            raise ValueError("no such city")


@attrs.define
class Attrs:
    city: str
    days: int = 1


class Named(NamedTuple):
    city: str
    days: int = 1


class Typed(typing.TypedDict):
    city: str
    days: typing.NotRequired[int]


class TypedExtension(typing_extensions.TypedDict):
    city: typing_extensions.Required[str]


class Model(pydantic.BaseModel):
    city: str = pydantic.Field(alias="cityName")
    at: dt.date = dt.date(2026, 1, 1)

    @pydantic.field_validator("city")
    @classmethod
    def known(cls, value):
        if value == "nowhere":
            raise ValueError("no such city")
        return value.title()


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    at: dt.datetime


@pydantic.dataclasses.dataclass
class PydanticData:
    city: str


class Node(msgspec.Struct):
    children: list["Node"] = []


class Colour(enum.Enum):
    RED = "red"


def echo(**options):
    return create_tool(id="t", description="d", execute=lambda value: value, **options)


@pytest.mark.parametrize("kind", [Struct, Data, Attrs])
def test_classes_are_built_with_their_defaults(kind):
    tool = echo(input_schema=kind)
    assert tool.execute_sync({"city": "x"}) == kind("x", 1)
    assert tool.execute_json_sync('{"city": "x", "days": 2}') == kind("x", 2)
    instance = kind("y")
    assert tool.execute_sync(instance) is instance
    refused = tool.execute_sync({"city": 1})
    assert [issue.path for issue in refused.issues] == [("city",)]
    assert tool.input_json_schema["type"] == "object"


def test_constraints_hold_before_anything_is_built():
    refused = echo(input_schema=Struct).execute_sync({"city": "x", "days": 0})
    assert [(issue.path, issue.keyword) for issue in refused.issues] == [(("days",), "minimum")]


@pytest.mark.parametrize("kind", [Typed, TypedExtension])
def test_typed_dicts_stay_plain(kind):
    tool = echo(input_schema=kind)
    assert type(tool.execute_sync({"city": "x"})) is dict
    assert isinstance(tool.execute_sync({}), ValidationError)


def test_named_tuples_and_annotations():
    assert echo(input_schema=Named).execute_sync(["x", 2]) == Named("x", 2)
    assert echo(input_schema=list[int]).execute_sync([1]) == [1]
    assert echo(input_schema=Annotated[int, msgspec.Meta(ge=0)]).execute_sync(-1).issues[0].keyword == "minimum"
    assert echo(input_schema=Literal["a", "b"]).execute_sync("c").phase == "input"
    assert echo(input_schema=int | None).execute_sync(None) is None
    assert echo(input_schema=dt.date).execute_sync("2026-01-02") == dt.date(2026, 1, 2)
    assert echo(input_schema=Colour).execute_sync("red") is Colour.RED
    assert echo(input_schema=dict[str, Struct]).execute_sync({"k": {"city": "x"}}) == {"k": Struct("x")}


def test_what_the_owner_refuses_comes_back_as_issues():
    refused = echo(input_schema=Data).execute_sync({"city": "nowhere"})
    assert [(issue.path, issue.message) for issue in refused.issues] == [((), "no such city")]
    nested = echo(input_schema=list[Data]).execute_sync([{"city": "x"}, {"city": "nowhere"}])
    assert nested.issues[0].path == (1,)
    model = echo(input_schema=Model).execute_sync({"cityName": "nowhere"})
    assert model.issues[0].path == ("cityName",)
    assert "no such city" in model.message
    assert model.phase == "input"
    assert isinstance(echo(input_schema=Data).execute_json_sync('{"city": "nowhere"}'), ValidationError)


def test_the_json_schema_decides_whatever_pydantic_would_coerce():
    refused = echo(input_schema=Model).execute_sync({"cityName": 5})
    assert refused.issues[0].keyword == "type"


def test_pydantic_of_every_kind():
    built = echo(input_schema=Model).execute_sync({"cityName": "london", "at": "2026-02-03"})
    assert (built.city, built.at) == ("London", dt.date(2026, 2, 3))
    assert echo(input_schema=PydanticData).execute_sync({"city": "x"}) == PydanticData("x")
    assert echo(input_schema=pydantic.TypeAdapter(list[int])).execute_sync([1]) == [1]
    assert echo(input_schema=list[Model]).execute_sync([{"cityName": "x"}])[0].city == "X"
    strict = echo(input_schema=Strict).execute_sync({"at": "2026-01-02T00:00:00Z"})
    assert strict.at.year == 2026
    instance = Model(cityName="x")
    assert echo(input_schema=Model).execute_sync(instance) is instance


def test_a_recursive_class_and_the_root_of_a_schema():
    tool = echo(input_schema=Node)
    assert tool.input_json_schema["type"] == "object"
    assert tool.execute_sync({"children": [{"children": []}]}) == Node([Node()])
    assert "$defs" not in echo(input_schema=Struct).input_json_schema
    assert "firstName" in echo(input_schema=Renamed).input_json_schema["properties"]


def test_json_schemas_of_all_forms():
    assert echo(input_schema='{"type": "integer"}').execute_sync(1) == 1
    assert echo(input_schema=True).execute_sync({"x": 1}) == {"x": 1}
    assert isinstance(echo(input_schema=False).execute_sync(1), ValidationError)
    assert echo(input_schema=collections.OrderedDict(type="integer")).execute_sync(1) == 1


def test_each_option_may_be_of_another_kind():
    tool = echo(input_schema=Struct, output_schema=Model, suspend_schema=dict[str, int], resume_schema="true")
    assert tool.validate_suspend({"x": 1}) == {"x": 1}
    assert isinstance(tool.validate_resume(5), int)


class Standard:
    vendor, version = "test", 1

    def __init__(self, **behaviour):
        self.behaviour = behaviour
        self.__standard_schema__ = self

    def json_schema(self, mode="input"):
        return {"type": "integer", "title": mode}

    def validate(self, value):
        return self.behaviour.get("validate", lambda given: given)(value)


def test_standard_schema():
    assert echo(input_schema=Standard(validate=lambda value: value + 1)).execute_sync(1) == 2
    assert echo(output_schema=Standard()).output_json_schema["title"] == "output"

    def refuse(value):
        raise ValueError("odd")

    def refuse_with_issues(value):
        raise ValidationError([Issue(("a",), message="deep", keyword="x")])

    assert echo(input_schema=Standard(validate=refuse)).execute_sync(1).issues[0].message == "odd"
    assert echo(input_schema=Standard(validate=refuse_with_issues)).execute_sync(1).issues[0].path == ("a",)
    assert isinstance(echo(input_schema=Standard()).execute_sync("x"), ValidationError)

    async def later(value):
        return value

    with pytest.raises(TypeError, match="asynchronously"):
        echo(input_schema=Standard(validate=later)).execute_sync(1)


class HalfStandard:
    __standard_schema__ = object()


@pytest.mark.parametrize("given", [object(), 5, [1], lambda: 1, object, HalfStandard, {1, 2}])
def test_what_is_no_schema(given):
    with pytest.raises(SchemaError):
        resolve(given, "input")


# --------------------------------------------------------------------------------------------- outputs


def out(value, schema):
    return create_tool(id="t", description="d", output_schema=schema, execute=lambda _: value).execute_sync(1)


@pytest.mark.parametrize("kind", [Struct, Data, Attrs])
def test_declared_outputs(kind):
    assert out(kind("x", 2), kind) == kind("x", 2)
    assert out({"city": "x"}, kind) == kind("x", 1)
    assert isinstance(out({"city": 1}, kind), ValidationError)
    plain = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    assert out(kind("x", 2), plain) == {"city": "x", "days": 2}


def test_pydantic_outputs():
    model = Model(cityName="x")
    assert out(model, Model) is model
    assert out({"cityName": "x", "at": "2026-01-01"}, Model).city == "X"
    assert out(model, {"type": "object", "required": ["cityName"]}) == {"cityName": "X", "at": "2026-01-01"}
    assert out([model], list[Model])[0].city == "X"


def test_an_instance_that_breaks_its_own_schema_is_refused():
    wrong = Struct("x", -1)
    refused = out(wrong, Struct)
    assert refused.phase == "output"
    assert refused.value is wrong
    assert '"days": -1' in refused.message


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ((1, 2), [1, 2]),
        ({"k": {1}}, {"k": [1]}),
        (frozenset({1}), [1]),
        (Colour.RED, "red"),
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00Z"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(seconds=90), "PT90S"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.50"), "1.50"),
        (b"abc", "YWJj"),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        ({uuid.UUID(int=1): {2: None}}, {"00000000-0000-0000-0000-000000000001": {"2": None}}),
        (Struct("x"), {"city": "x", "days": 1}),
        ([Data("x")], [{"city": "x", "days": 1}]),
        (Attrs("x"), {"city": "x", "days": 1}),
        (Named("x"), ["x", 1]),
        (Renamed("x"), {"firstName": "x"}),
        (Model(cityName="x"), {"cityName": "X", "at": "2026-01-01"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_table(value, data):
    assert to_json_data(value) == data
    assert json.dumps(to_json_data(value))
    assert out(value, True) in (data, value)


def test_decimals_count_as_numbers_where_only_that_is_valid():
    value = {"price": decimal.Decimal("1.5"), "at": dt.date(2026, 1, 2)}
    number = {"properties": {"price": {"type": "number"}, "at": {"type": "string"}}}
    text = {"properties": {"price": {"type": "string"}, "at": {"type": "string"}}}
    assert out(value, number) == {"price": decimal.Decimal("1.5"), "at": "2026-01-02"}
    assert out(value, text) == {"price": "1.5", "at": "2026-01-02"}


def test_what_is_no_data_is_named_at_its_place():
    refused = out({"a": [object()]}, {"type": "object"})
    assert refused.issues[0].path == ("a", 0)
    assert "object" in refused.issues[0].message
    cyclic: dict[str, Any] = {"d": dt.date(2026, 1, 2)}
    cyclic["me"] = cyclic
    assert isinstance(out(cyclic, {"type": "object"}), ValidationError)


def test_without_an_output_schema_the_output_is_handed_over():
    marker = object()
    assert create_tool(id="t", description="d", execute=lambda _: marker).execute_sync(1) is marker


def test_pydantic_is_not_imported_for_others():
    import subprocess

    code = (
        "import sys, dataclasses, toolhead\n"
        "T = dataclasses.make_dataclass('T', [('a', int)])\n"
        "schemas = {'input_schema': T, 'output_schema': list[int]}\n"
        "t = toolhead.create_tool(id='t', description='d', execute=lambda v: [v.a], **schemas)\n"
        "assert t.execute_sync({'a': 1}) == [1]\n"
        "print('pydantic' in sys.modules, 'attrs' in sys.modules, 'opentelemetry' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"] * 3
