"""`toolhead inspect`, `call`, `validate` and `schema`: results on standard output, errors on standard error."""

import json
from pathlib import Path

import pytest

from toolhead.cli import COMMANDS, main

MODULE = """
from toolhead import create_tool

async def forecast(input, context):
    if input["place"] == "Atlantis":
        raise LookupError("sunk")
    if input["place"] == "Nowhere":
        context.suspend({"ask": "where"})
    return {"place": input["place"], "days": input["days"]}

tool = create_tool(
    id="weather",
    description="The weather",
    title="Weather",
    input_schema={
        "type": "object",
        "properties": {"place": {"type": "string"}, "days": {"type": "integer", "default": 3}, "h": {"type": "object"}},
        "required": ["place"],
    },
    output_schema={"type": "object", "required": ["place"]},
    execute=forecast,
    strict=True,
    on_output=lambda event: None,
)
client = create_tool(id="client", description="Runs elsewhere")
tools = [tool, client]
number = 5
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cli_example_tools.py").write_text(MODULE)
    (tmp_path / "cli_broken_tools.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(arguments)
    except SystemExit as error:
        code = int(error.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_call_prints_the_result(capsys: pytest.CaptureFixture[str], folder: Path):
    code, out, err = run(capsys, "call", "cli_example_tools:tool", '{"place": "Zürich"}')
    assert (code, json.loads(out), err) == (0, {"place": "Zürich", "days": 3}, "")
    assert "Zürich" in out
    (folder / "arguments.json").write_text('{"place": "Oslo", "days": 1}')
    assert json.loads(run(capsys, "call", "cli_example_tools:tool", "@arguments.json")[1])["days"] == 1


def test_call_says_what_is_wrong_with_the_arguments(capsys: pytest.CaptureFixture[str]):
    code, out, err = run(capsys, "call", "cli_example_tools:tool", "{}")
    assert (code, out) == (1, "")
    assert err.startswith("Tool input validation failed for weather.")
    assert "- place: " in err
    code, out, _ = run(capsys, "call", "cli_example_tools:tool", "{", "--json")
    assert code == 1
    assert json.loads(out)["error"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("cli_example_tools:tool", '{"place": "Atlantis"}'), 1, "weather raised LookupError: sunk"),
        (("cli_example_tools:tool", '{"place": "Nowhere"}'), 1, 'weather suspended: {"ask": "where"}'),
        (("cli_example_tools:client",), 1, "has no execute"),
        (("cli_example_tools:tools",), 2, "expected one tool, got 2: weather, client"),
        (("cli_example_tools:number",), 2, "expected tools, got int"),
        (("cli_example_tools:nothing",), 2, "has no attribute 'nothing'"),
        (("cli_example_tools",), 2, "expected module:attribute"),
        (("cli_no_such_module:tool",), 2, "No module named"),
        (("cli_broken_tools:tool",), 1, "raised ZeroDivisionError"),
        (("cli_example_tools:tool", "@missing.json"), 2, "missing.json"),
    ],
)
def test_call_ends_with_one_line_and_a_code(
    arguments: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
):
    got, out, err = run(capsys, "call", *arguments)
    assert (got, out, len(err.splitlines())) == (code, "", 1)
    assert message in err


def test_inspect_shows_what_is_not_default(capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(capsys, "inspect", "cli_example_tools:tools", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["weather"]["title"] == "Weather"
    assert facts["weather"]["strict"] is True
    assert facts["weather"]["input_schema"]["required"] == ["place"]
    assert facts["weather"]["body"] == "cli_example_tools.forecast"
    assert "on_output" in facts["weather"]
    assert facts["client"] == {"id": "client", "description": "Runs elsewhere", "body": "none: a definition"}
    assert "  title                 Weather" in run(capsys, "inspect", "cli_example_tools:tool")[1]


def test_schema_prints_schemas_definitions_and_subsets(capsys: pytest.CaptureFixture[str]):
    assert json.loads(run(capsys, "schema", "cli_example_tools:tool")[1])["required"] == ["place"]
    assert json.loads(run(capsys, "schema", "cli_example_tools:tool", "--output")[1])["required"] == ["place"]
    assert set(json.loads(run(capsys, "schema", "cli_example_tools:tools")[1])) == {"weather", "client"}
    code, out, err = run(capsys, "schema", "cli_example_tools:tools", "--provider", "openai-chat")
    assert (code, [entry["function"]["name"] for entry in json.loads(out)]) == (0, ["weather", "client"])
    assert "/properties/h" in err
    code, out, err = run(capsys, "schema", "cli_example_tools:tool", "--subset", "openai-strict")
    assert (code, out) == (1, "")
    assert "/properties/h: a map with free keys" in err


def test_validate_says_file_place_and_reason(capsys: pytest.CaptureFixture[str], folder: Path):
    (folder / "schema.json").write_text('{"type": "object", "properties": {"n": {"type": "integer"}}}')
    (folder / "good.json").write_text('{"n": 1}')
    (folder / "bad.json").write_text('{"n": "x"}')
    (folder / "broken.json").write_text('{"n":\n oops}')
    assert run(capsys, "validate", "schema.json", "good.json") == (0, "good.json: ok\n", "")
    code, out, _ = run(capsys, "validate", "schema.json", "good.json", "bad.json", "broken.json")
    assert code == 1
    assert out.splitlines()[1] == "bad.json: /n: Expected integer, got string"
    assert out.splitlines()[2].startswith("broken.json: line 2, column 2: ")
    (folder / "lines.jsonl").write_text('{"n": 1}\n\n{"n": null}\n')
    code, out, _ = run(capsys, "validate", "schema.json", "lines.jsonl", "--lines", "--json")
    first, second = map(json.loads, out.splitlines())
    assert (code, first["valid"], first["file"]) == (1, True, "lines.jsonl:1")
    assert second["issues"][0]["pointer"] == "/n"
    assert second["file"] == "lines.jsonl:3"


@pytest.mark.parametrize(
    ("schema", "options", "expected"),
    [
        ('{"type": "intger"}', [], (1, "intger")),
        ("{", [], (1, "schema.json")),
        ("5", [], (1, "schema.json")),
        ("true", ["--dialect", "draft99"], (2, "draft99")),
        (None, [], (2, "schema.json: No such file")),
    ],
)
def test_validate_refuses_a_wrong_schema(
    schema: str | None,
    options: list[str],
    expected: tuple[int, str],
    capsys: pytest.CaptureFixture[str],
    folder: Path,
):
    if schema is not None:
        (folder / "schema.json").write_text(schema)
    (folder / "data.json").write_text("1")
    code, out, err = run(capsys, "validate", "schema.json", "data.json", *options)
    assert (code, out, len(err.splitlines())) == (expected[0], "", 1)
    assert expected[1] in err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert "examples:" in out
