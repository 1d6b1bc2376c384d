"""From values at JSON paths to the JSON text that holds them.

Rules: the `partialArgs` of Vertex; spec/api.md section 5 (`push_path`). A model writes its arguments in order, so each
value extends the text; values out of order are still right, but only in `replacement`, at the end.
"""

from __future__ import annotations

import json
import re
from typing import Any

from toolhead.errors import DecodeError

MAX_DEPTH = 200
"""Depth limit, as `Limits.depth`."""

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")

Path = tuple[str | int, ...]


class PathText:
    """Takes the values in the order in which they come, gives the text that each adds."""

    def __init__(self) -> None:
        self._root: dict[str | int, Any] = {}  # containers by key or index; a leaf is a list of its text's pieces
        self._last: Path = ()
        self._growing: Path | None = None  # a text whose end has not come
        self._in_order = True

    def put(self, json_path: str, value: Any, *, grows: bool) -> str:
        """The text that `value` at `json_path` adds; `grows`: a text that the next value at the same path continues.

        Raises `DecodeError` for a path that cannot be read, is too deep, or leads through a value that is no container.
        """
        path = parse_path(json_path)
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            value = int(value)  # the wire knows one kind of number; a whole one is written as such
        is_text = isinstance(value, str)
        text = _inside(value) if is_text else json.dumps(value)
        if path == self._growing and is_text:
            self._leaf(path).append(text if grows else text + '"')
            self._growing = path if grows else None
            return self._said(text if grows else text + '"')
        before = self._close_text()
        known, fresh = self._open(path)
        leaf = '"' + text + ("" if grows else '"') if is_text else text
        self._set(path, leaf)
        self._growing = path if grows and is_text else None
        self._in_order = self._in_order and fresh
        added = before + known + leaf
        self._last = path
        return self._said(added)

    def end(self) -> str:
        """The text that closes everything that is open."""
        text = self._close_text()
        if not self._last:
            return self._said("{}")
        closing = "".join("}" if isinstance(step, str) else "]" for step in reversed(self._last))
        return self._said(text + closing)

    @property
    def replacement(self) -> str | None:
        """The whole text, when the pieces given so far do not make it."""
        return None if self._in_order else _render(self._root)

    def _said(self, text: str) -> str:
        return text if self._in_order else ""

    def _close_text(self) -> str:
        if self._growing is None:
            return ""
        self._leaf(self._growing).append('"')
        self._growing = None
        return '"'

    def _open(self, path: Path) -> tuple[str, bool]:
        """The text between the last value and the one at `path`, and whether the order holds."""
        last = self._last
        if not last:
            return _down(path, 0), _starts_at_zero(path, 0)
        common = 0
        while common < min(len(path), len(last)) and path[common] == last[common]:
            common += 1
        if common in (len(path), len(last)):  # the same place again, or a value where a container is
            return "", False
        closing = "".join("}" if isinstance(step, str) else "]" for step in reversed(last[common + 1 :]))
        step = path[common]
        container = self._container(path[:common])
        if isinstance(step, int):
            fresh, name = step == len(container), ""
        else:
            fresh, name = step not in container, json.dumps(step, ensure_ascii=False) + ":"
        fresh = fresh and type(step) is type(last[common]) and _starts_at_zero(path, common + 1)
        return closing + "," + name + _down(path, common + 1), fresh

    def _container(self, path: Path) -> dict[str | int, Any]:
        node: Any = self._root
        for step in path:
            node = node.get(step) if isinstance(node, dict) else None
            if not isinstance(node, dict):
                return {}
        found: dict[str | int, Any] = node
        return found

    def _set(self, path: Path, leaf: str) -> None:
        node = self._root
        for depth, step in enumerate(path):
            if node and isinstance(next(iter(node)), int) is not isinstance(step, int):
                raise _bad(path, "it takes a list for an object or the reverse")
            if isinstance(step, int) and step > len(node):
                raise _bad(path, "it skips an item of a list")
            if depth == len(path) - 1:
                if isinstance(node.get(step), dict):
                    raise _bad(path, "it puts a value where a list or an object is")
                node[step] = [leaf]
            else:
                below = node.setdefault(step, {})
                if not isinstance(below, dict):
                    raise _bad(path, "it leads through a value that is no list or object")
                node = below

    def _leaf(self, path: Path) -> list[str]:
        pieces: list[str] = self._container(path[:-1])[path[-1]]
        return pieces


def parse_path(json_path: str) -> Path:
    """`$.a.b[0]['c d']` as `("a", "b", 0, "c d")`. Raises `DecodeError` for any other form."""
    at = 1
    steps: list[str | int] = []
    while json_path[:1] == "$" and at < len(json_path):
        match = _STEP.match(json_path, at)
        if match is None or len(steps) >= MAX_DEPTH:
            break
        name, index, single, double = match.groups()
        steps.append(
            int(index) if index is not None else name if name is not None else _unescape(single or double or "")
        )
        at = match.end()
    if at != len(json_path) or not steps or not isinstance(steps[0], str):
        raise _bad(json_path, "it is not a JSON path to a value inside an object")
    return tuple(steps)


def _bad(path: object, why: str) -> DecodeError:
    return DecodeError(f"The path {path!r:.200} of an argument cannot be used: {why}", offset=0, line=1, column=1)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _inside(text: str) -> str:
    """`text` inside a JSON string. Halves of a surrogate pair are escaped, so that two pieces can make one."""
    half = any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(text, ensure_ascii=half)[1:-1]


def _down(path: Path, start: int) -> str:
    """The text that opens the containers from depth `start` to the value."""
    return "".join(
        "{" + json.dumps(step, ensure_ascii=False) + ":" if isinstance(step, str) else "[" for step in path[start:]
    )


def _starts_at_zero(path: Path, start: int) -> bool:
    return all(step == 0 for step in path[start:] if isinstance(step, int))


def _render(node: dict[str | int, Any]) -> str:
    # Depth is bounded by MAX_DEPTH when a path is read.
    is_list = isinstance(next(iter(node)), int)
    items = []
    for step, child in node.items():
        text = _render(child) if isinstance(child, dict) else "".join(child)
        items.append(text if is_list else json.dumps(step, ensure_ascii=False) + ":" + text)
    return "[" + ",".join(items) + "]" if is_list else "{" + ",".join(items) + "}"
