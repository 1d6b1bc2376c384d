"""What a run looks like in a terminal: each call as a block, written anew with every event; elsewhere plain lines.

Both say the same facts. Nothing here knows how a call is run: it reads chunks and hooks.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from typing import Any, TextIO

from toolhead._core import MISSING
from toolhead.runs.sendable import sendable

STYLES = {"head": "1", "name": "1;36", "label": "2", "good": "32", "bad": "31", "note": "33"}
LABEL = 12
NAME = 21
GROWTH = 24
"""How many characters a text has to grow before a plain line shows it again."""


class CallView:
    """What is known of one call."""

    def __init__(self, name: str, call_id: str, note: str) -> None:
        self.name = name
        self.call_id = call_id
        self.note = note
        self.value: Any = None
        self.hooks: dict[str, int] = {}
        self.facts: list[tuple[str, str, str]] = []  # label, text, style
        self.said: dict[str, int] = {}  # by field: how long it was when a plain line showed it

    def lines(self) -> list[list[tuple[str, str]]]:
        """The block: lines of (style, text)."""
        made = [
            [
                ("name", f"  {self.name}"),
                ("label", f"  {self.call_id}"),
                ("note", f"  {self.note}" if self.note else ""),
            ]
        ]
        for index, (field, text) in enumerate(fields(self.value)):
            made.append([("label", "arguments".ljust(LABEL) if index == 0 else " " * LABEL), ("", f"{field} = {text}")])
        if self.hooks:
            made.append(
                [("label", "hooks".ljust(LABEL)), ("", ", ".join(_times(*hook) for hook in self.hooks.items()))]
            )
        made += [[("label", label.ljust(LABEL)), (style, text)] for label, text, style in self.facts]
        return [made[0], *([("", "    "), *line] for line in made[1:])]


class Screen:
    """Shows scenes: a title, then the calls of one step.

    Args:
        out: where to.
        live: whether blocks are rewritten in place; the default asks the terminal.
    """

    def __init__(self, out: TextIO | None = None, *, live: bool | None = None) -> None:
        self.out = out or sys.stdout
        self.live = self.out.isatty() and os.environ.get("TERM") != "dumb" if live is None else live
        self.colours = self.live and not os.environ.get("NO_COLOR")
        self.calls: dict[str, CallView] = {}
        self._early: dict[str, list[str]] = {}  # hooks of calls that are not shown yet
        self._drawn = 0
        self._left = False  # whoever read the output went away

    def scene(self, title: str, note: str, origin: str = "") -> None:
        """A new step begins."""
        self.calls = {}
        self._drawn = 0
        self._print([("head", title), ("label", f"  ({origin})" if origin else "")])
        if note:
            self._print([("", f"  {note}")])

    def call(self, call_id: str, name: str, note: str = "") -> None:
        """A call appeared."""
        self.calls[call_id] = CallView(name, call_id, note)
        self._show(call_id, "call", note or "begins", "note")
        for hook in self._early.pop(call_id, ()):
            self.hook(call_id, hook)

    def arguments(self, call_id: str, value: Any, *, whole: bool = False) -> None:
        """The arguments grew, or are whole."""
        view = self.calls[call_id]
        view.value = value
        if self.live:
            self._draw()
            return
        for field, text in fields(value):
            before = view.said.get(field)
            if before is None or len(text) - before >= GROWTH or (whole and len(text) != before):
                view.said[field] = len(text)
                self._line(view, "arguments", f"{field} = {text}", "")

    def hook(self, call_id: str, name: str) -> None:
        """A hook ran."""
        view = self.calls.get(call_id)
        if view is None:  # the first hook runs before the call is told
            self._early.setdefault(call_id, []).append(name)
            return
        view.hooks[name] = view.hooks.get(name, 0) + 1
        if self.live:
            self._draw()
        elif name != "on_input_delta" or view.hooks[name] == 1:
            self._line(view, "hook", name, "")

    def fact(self, call_id: str, label: str, text: str, style: str = "") -> None:
        """Something that is said once: verdict, execution, result, ..."""
        for index, line in enumerate(text.splitlines() or [""]):
            self.calls[call_id].facts.append((label if index == 0 else "", line, style))
            self._show(call_id, label if index == 0 else "", line, style)

    def end(self) -> None:
        """The step ended: what is shown stays."""
        if self.live and self.calls:
            self._draw(whole=True)
        for view in self.calls.values() if not self.live else ():
            if view.hooks.get("on_input_delta", 0) > 1:
                self._line(view, "hooks", ", ".join(_times(*hook) for hook in view.hooks.items()), "")
        self._drawn = 0
        self._print([])
        if self._left:
            raise BrokenPipeError

    def say(self, text: str = "", style: str = "") -> None:
        """A line on its own."""
        self._print([(style, text)])

    def _show(self, call_id: str, label: str, text: str, style: str) -> None:
        if self.live:
            self._draw()
        else:
            self._line(self.calls[call_id], label, text, style)

    def _line(self, view: CallView, label: str, text: str, style: str) -> None:
        self._print([("name", f"  {view.name:<{NAME}} "), ("label", label.ljust(LABEL)), (style, text)])

    def _draw(self, *, whole: bool = False) -> None:
        """Writes all blocks over what was drawn before."""
        columns, rows = shutil.get_terminal_size((100, 40))
        lines = [line for view in self.calls.values() for line in view.lines()]
        if not whole:
            lines = lines[-(rows - 2) :]
        if self._drawn:
            self._write(f"\x1b[{self._drawn}F\x1b[0J")
        for line in lines:
            self._print(line, columns - 1)
        self._drawn = len(lines)
        self._flush()

    def _print(self, parts: list[tuple[str, str]], width: int | None = None) -> None:
        """One line, cut at `width` columns."""
        left = width
        made = []
        for style, text in parts:
            shown = printable(text)
            if left is not None:
                shown = cut(shown, left)
                left -= columns_of(shown)
            made.append(f"\x1b[{STYLES[style]}m{shown}\x1b[0m" if self.colours and style and shown else shown)
        self._write("".join(made).rstrip() + "\n")
        if not self.live:
            self._flush()

    def _write(self, text: str) -> None:
        # A hook writes too, and what a hook raises is logged: a closed pipe is kept for `end` to tell.
        if not self._left:
            try:
                self.out.write(text)
            except BrokenPipeError:
                self._left = True

    def _flush(self) -> None:
        if not self._left:
            try:
                self.out.flush()
            except BrokenPipeError:
                self._left = True


def fields(value: Any) -> list[tuple[str, str]]:
    """The arguments, one line a field of the top level."""
    if isinstance(value, dict):
        return [(str(key), to_text(member)) for key, member in value.items()]
    return [] if value is None or value is MISSING else [("value", to_text(value))]


def to_text(value: Any, limit: int = 240) -> str:
    """`value` as one line of JSON, its middle left out where it is long."""
    text = json.dumps(sendable(value), ensure_ascii=False)
    return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-limit // 2 :]}"


def printable(text: str) -> str:
    """`text` without what a terminal would take for a command or cannot encode."""
    return "".join(
        character if character.isprintable() or character == " " else repr(character)[1:-1] for character in text
    )


def columns_of(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    return sum(_width(character) for character in text)


def cut(text: str, columns: int) -> str:
    """The beginning of `text` that fits into `columns`."""
    if columns_of(text) <= columns:
        return text
    taken, used = [], 0
    for character in text:
        used += _width(character)
        if used > columns - 1:
            break
        taken.append(character)
    return "".join(taken) + "…" if columns > 0 else ""


def _width(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _times(name: str, count: int) -> str:
    return name if count == 1 else f"{name} x{count}"
