"""`toolhead demo` and `toolhead replay`: what one sees, in a terminal and without one, and how they end."""

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from toolhead.cli import main
from toolhead.cli.screen import Screen, columns_of, cut, printable, to_text


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(arguments)
    except SystemExit as error:  # argparse ends so
        code = int(error.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


FACTS = [
    'get_weather           arguments   city = "Mexico City"',
    "get_weather           hook        on_input_start",
    "get_weather           hook        on_input_available",
    "get_weather           verdict     valid",
    "get_weather           execution   the body ran",
    'get_weather           result      {"city": "Mexico City", "degrees": 19.5, "unit": "celsius"}',
    "get_product_name      verdict     output refused: /name: Expected string, got integer",
    "get_product_name      model gets  Tool output validation failed for get_product_name.",
    "get_book_info         verdict     input refused: /isbn: ",
    "tool_search_tool_bm25 call        the provider runs this one",
    'secret_retrieval_tool result      {"secret": "Welcome to Moria!", "source": "vault-7"}',
    "secret_retrieval_tool model gets  Welcome to Moria!",
    'secret_retrieval_tool user sees   {"args": {"password": "******"}, "result": {"found": true}}',
    "write                 verdict     input refused: /: The arguments were cut off before they were complete",
]


def test_demo_without_a_terminal_says_every_fact_in_plain_lines(capsys: pytest.CaptureFixture[str]):
    began = time.perf_counter()
    code, out, err = run(capsys, "demo")
    assert time.perf_counter() - began < 10
    assert (code, err) == (0, "")
    assert [fact for fact in FACTS if fact not in out] == []
    assert "\x1b" not in out


def test_demo_needs_no_network_and_leaves_a_closed_pipe_in_peace():
    code = (
        "import socket\n"
        "def refuse(*_): raise AssertionError('network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from toolhead.cli import main\n"
        "raise SystemExit(main(['demo']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    head = subprocess.run(
        f"{sys.executable} -m toolhead demo | head -1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert head.stdout.startswith("openai-chat")
    assert head.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_demo_in_a_terminal_rewrites_its_blocks():
    import pty

    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "toolhead", "demo", "--pace", "0"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "110", "LINES": "45"}
    with subprocess.Popen(command, stdout=end, env=environment) as process:
        os.close(end)
        seen = b""
        while piece := _read(terminal):
            seen += piece
        assert process.wait(30) == 0
    os.close(terminal)
    text = seen.decode()
    assert "\x1b[2F\x1b[0J" in text
    assert text.index('city = "Mexic"') < text.index('city = "Mexico City"')
    assert "refused: /isbn" in text
    assert "Every call has had exactly one result" in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def test_replay_plays_every_stream(stream: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]):
    path, sidecar = stream
    code, out, err = run(capsys, "replay", str(path))
    assert (code, err) == (0, "")
    for call in sidecar["tool_calls"]:
        assert printable(call["name"]) in out
    ours = [
        call for call in sidecar["tool_calls"] if call["kind"] not in {"server_tool_use", "mcp_tool_use", "mcp_call"}
    ]
    ours = [call for call in ours if call["name"] != "nova_code_interpreter"]
    assert out.count("model gets  ") == len(ours)


def test_replay_takes_the_sidecar_or_a_provider(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    event = {
        "choices": [
            {"message": {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": "stop"}
        ]
    }
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(event) + "\n")
    code, out, err = run(capsys, "replay", str(file))
    assert (code, out) == (2, "")
    assert "--provider" in err
    code, out, _ = run(capsys, "replay", str(file), "--provider", "openai-chat")
    assert code == 0
    assert "ToolNotFoundError: The tool 'f' does not exist" in out
    sidecar = {"format": "tool-stream/1", "stream": "one.jsonl", "api": "openai-chat", "tool_calls": [{"name": "f"}]}
    (tmp_path / "one.json").write_text(json.dumps(sidecar))
    code, out, _ = run(capsys, "replay", str(tmp_path / "one.json"))
    assert code == 0
    assert 'result      {"received": {}}' in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "required"),
        (["nothing"], 2, "invalid choice"),
        (["replay"], 2, "required"),
        (["replay", "missing.sse", "--provider", "anthropic"], 2, "missing.sse: no such file"),
        (["replay", "missing.json"], 2, "missing.json: no such file"),
        (["replay", "x", "--provider", "nobody"], 2, "invalid choice"),
    ],
)
def test_wrong_usage_is_told_on_standard_error(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
):
    assert run(capsys, *arguments)[0::2][0] == code
    _, out, err = run(capsys, *arguments)
    assert out == ""
    assert message in err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", "[]", "not the sidecar"),
        ("a.json", '{"format": "tool-stream/1", "stream": "a.sse", "api": "morse"}', "Unknown API 'morse'"),
        ("b.sse", "data: {oops\n\n", "not JSON"),
    ],
)
def test_invalid_data_ends_with_one(
    name: str, content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "a.sse").write_text("")
    (tmp_path / name).write_text(content)
    code, _, err = run(
        capsys, "replay", str(tmp_path / name), *(["--provider", "anthropic"] if name == "b.sse" else [])
    )
    assert code == 1
    assert message in err
    assert len(err.splitlines()) == 1


def test_every_command_has_help_with_examples(capsys: pytest.CaptureFixture[str]):
    for command in ("demo", "replay"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert "examples:" in out
    assert run(capsys, "--version")[1].startswith("toolhead ")


def test_nothing_of_a_model_reaches_the_terminal_as_a_command():
    out = io.StringIO()
    screen = Screen(out, live=False)
    screen.scene("title", "")
    screen.call("c", "evil\x1b[2J")
    screen.arguments("c", {"a\x07": "\x1b]0;title\x07", "b": "\u202ereversed"})
    screen.end()
    assert not any(character in out.getvalue() for character in "\x1b\x07\u202e")


def test_lines_are_cut_at_columns_not_characters():
    assert columns_of("日本a") == 5
    assert cut("日本語", 5) == "日本…"
    assert cut("abc", 3) == "abc"
    assert cut("abc", 0) == ""
    assert len(to_text("x" * 1000)) < 260
