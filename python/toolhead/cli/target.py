"""Tools named on the command line as `module:attribute`, and JSON given there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from toolhead.cli.errors import INVALID, CommandError
from toolhead.runs.toolset import AnyTool, ToolSet
from toolhead.tool import Tool

HELP = "module:attribute of a tool, a ToolSet, or a list or mapping of tools; modules are looked for here first"


def load_tools(target: str) -> ToolSet:
    """The tools at `target`. Raises `CommandError` when it names none."""
    module_name, colon, path = target.partition(":")
    if not colon or not module_name or not path:
        raise CommandError(f"{target}: expected module:attribute")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise CommandError(f"{target}: {error}") from error
    except Exception as error:  # whatever the module does when it is imported
        raise CommandError(
            f"{target}: importing {module_name} raised {type(error).__name__}: {error}", INVALID
        ) from error
    try:
        found: Any = reduce(getattr, path.split("."), module)
    except AttributeError as error:
        raise CommandError(f"{target}: {error}") from error
    try:
        if isinstance(found, Tool):
            return ToolSet([found])
        if isinstance(found, (Mapping, Iterable)) and not isinstance(found, str):
            return ToolSet(found)
    except (TypeError, ValueError) as error:
        raise CommandError(f"{target}: {error}") from error
    raise CommandError(f"{target}: expected tools, got {type(found).__name__}")


def load_tool(target: str) -> AnyTool:
    """The one tool at `target`. Raises `CommandError` when there is none, or more than one."""
    tools = load_tools(target)
    if len(tools) != 1:
        raise CommandError(f"{target}: expected one tool, got {len(tools)}: {', '.join(tools)}")
    return next(iter(tools.values()))


def read_text(given: str) -> str:
    """JSON text from an argument: the text itself, `-` for standard input, `@file` for a file."""
    if given == "-":
        return sys.stdin.read()
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{given[1:]}: {error}") from error
