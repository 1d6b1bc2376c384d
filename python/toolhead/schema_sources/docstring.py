"""What a docstring says of a function and its parameters: Google, NumPy and Sphinx style."""

from __future__ import annotations

import inspect
import re

__all__ = ["described"]

_GOOGLE = re.compile(r"(args|arguments|parameters|params):", re.IGNORECASE)
_NUMPY = re.compile(r"(other )?parameters", re.IGNORECASE)
# The first section of any kind ends the description.
_SECTION = re.compile(
    r"(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|attributes|warnings?|see also|"
    r"references|todo|other parameters|keyword args|keyword arguments):?",
    re.IGNORECASE,
)
_SPHINX = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_FIELD = re.compile(r":\w+[^:]*:")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


def described(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The description (everything before the first section) and the text of each parameter."""
    if not docstring:
        return "", {}
    lines = inspect.cleandoc(docstring).splitlines()
    end = next((index for index in range(len(lines)) if _begins_section(lines, index)), len(lines))
    return "\n".join(lines[:end]).strip(), _parameters(lines[end:])


def _begins_section(lines: list[str], index: int) -> bool:
    line = lines[index]
    if _FIELD.match(line):
        return True
    if not _SECTION.fullmatch(line.strip()) or line[:1].isspace():
        return False
    return line.rstrip().endswith(":") or _is_underlined(lines, index)


def _is_underlined(lines: list[str], index: int) -> bool:
    following = lines[index + 1].strip() if index + 1 < len(lines) else ""
    return len(following) >= 3 and set(following) == {"-"}


def _parameters(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    index = 0
    while index < len(lines):
        line = lines[index]
        sphinx = _SPHINX.match(line)
        if sphinx:
            block = _indented(lines, index + 1, 0)
            found[sphinx[1]] = _joined([sphinx[2], *block])
        elif _GOOGLE.fullmatch(line.strip()):
            found.update(_entries(_indented(lines, index + 1, 0)))
        elif _NUMPY.fullmatch(line.strip()) and _is_underlined(lines, index):
            found.update(_numpy_entries(lines, index + 2))
        index += 1
    return found


def _indented(lines: list[str], start: int, depth: int) -> list[str]:
    """The lines from `start` that are indented by more than `depth`, or empty."""
    block = []
    for line in lines[start:]:
        if line.strip() and len(line) - len(line.lstrip()) <= depth:
            break
        block.append(line)
    return block


def _entries(block: list[str]) -> dict[str, str]:
    """`name (type): text` entries; deeper lines continue the text."""
    found: dict[str, list[str]] = {}
    filled = [line for line in block if line.strip()]
    depth = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    current: list[str] = []
    for line in filled:
        entry = _ENTRY.match(line.strip()) if len(line) - len(line.lstrip()) == depth else None
        if entry:
            current = found.setdefault(entry[1], [entry[2]])
        else:
            current.append(line)
    return {name: _joined(text) for name, text in found.items()}


def _numpy_entries(lines: list[str], start: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for index in range(start, len(lines)):
        line = lines[index]
        if _is_underlined(lines, index):
            break
        entry = _NUMPY_ENTRY.match(line) if line.strip() and not line[0].isspace() else None
        if entry:
            text = _joined(_indented(lines, index + 1, 0))
            for name in entry[1].split(","):
                found[name.strip().lstrip("*")] = text
    return found


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
