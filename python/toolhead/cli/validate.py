"""`toolhead validate`: JSON files against a JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolhead._core import Validator
from toolhead.cli.errors import INVALID, CommandError
from toolhead.errors import DecodeError, SchemaError, ValidationError

if TYPE_CHECKING:
    import argparse

SUMMARY = "validate JSON files against a JSON Schema"
EXAMPLES = """examples:
  toolhead validate schema.json data.json
  toolhead validate schema.json *.json --dialect draft7
  toolhead validate schema.json lines.jsonl --lines --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("schema", type=Path, help="a JSON Schema")
    parser.add_argument("files", type=Path, nargs="+", help="JSON files")
    parser.add_argument("--dialect", help="where the schema has no $schema: draft4 to draft2020-12 (the default), v1")
    parser.add_argument("--no-formats", action="store_true", help="do not assert formats")
    parser.add_argument("--lines", action="store_true", help="the files hold one JSON value a line")
    parser.add_argument("--json", action="store_true", help="print one JSON object a value")


def run(options: argparse.Namespace) -> int:
    """The command."""
    validator = _validator(options)
    code = 0
    for path in options.files:
        data = _read(path)
        values = [(f"{path}:{number}", line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
        for name, text in values if options.lines else [(str(path), data)]:
            issues = _issues(validator, text)
            code = code or (INVALID if issues else 0)
            if options.json:
                print(json.dumps({"file": name, "valid": not issues, "issues": issues}, ensure_ascii=False))
            else:
                print(f"{name}: ok" if not issues else "\n".join(f"{name}: {_line(issue)}" for issue in issues))
    return code


def _validator(options: argparse.Namespace) -> Validator:
    text = _read(options.schema)
    try:
        return Validator(Validator(True).decode(text), dialect=options.dialect, formats=not options.no_formats)
    except (SchemaError, DecodeError) as error:
        raise CommandError(f"{options.schema}: {error}", INVALID) from error
    except ValueError as error:  # an unknown dialect
        raise CommandError(str(error)) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error


def _issues(validator: Validator, text: bytes) -> list[dict[str, Any]]:
    try:
        validator.decode(text)
    except DecodeError as error:
        where = {"line": error.line, "column": error.column, "offset": error.offset}
        return [{"pointer": "", "keyword": None, "message": error.message, **where}]
    except ValidationError as error:
        return [{"pointer": i.pointer, "keyword": i.keyword, "message": i.message} for i in error.issues]
    return []


def _line(issue: dict[str, Any]) -> str:
    if "line" in issue:
        return f"line {issue['line']}, column {issue['column']}: {issue['message']}"
    return f"{issue['pointer'] or '/'}: {issue['message']}"
