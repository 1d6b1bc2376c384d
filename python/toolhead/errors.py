"""Every exception of the library, and the text of a failed validation.

Source: spec/api.md section 3; the message frame is section 4 of the behaviour document.
A `ValidationError` builds its message when it is made, so that it shows the value as it was refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolhead._core import Issue

__all__ = [
    "AlreadyResolvedError",
    "DecodeError",
    "NotSuspendedError",
    "RunNotFoundError",
    "SchemaError",
    "ToolAbortedError",
    "ToolError",
    "ToolExecutionError",
    "ToolNotExecutableError",
    "ToolNotFoundError",
    "ToolSuspended",
    "ToolTimeoutError",
    "ToolheadError",
    "ValidationError",
    "ValidationPhase",
]

ValidationPhase = Literal["input", "output", "suspend", "resume", "request_context"]


class ToolheadError(Exception):
    """Base of all exceptions of the library. Every one can be pickled, with its cause where that can be."""

    def __reduce__(self) -> tuple[Any, ...]:
        state = {**self.__dict__, "__cause__": self.__cause__}
        kept = {name: value for name, value in state.items() if _can_pickle(value)}
        return _restore, (type(self), self.args, {**dict.fromkeys(state), **kept})


class SchemaError(ToolheadError, ValueError):
    """The schema itself is wrong. Raised when a tool or a `Validator` is made.

    Attributes:
        message: what is wrong.
        schema_path: JSON Pointer into the schema as written.
        keyword: the keyword at fault, if one is.
    """

    def __init__(self, message: str, *, schema_path: str = "", keyword: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.schema_path = schema_path
        self.keyword = keyword

    def __str__(self) -> str:
        return f"{self.message} (at {self.schema_path} of the schema)" if self.schema_path else self.message


class DecodeError(ToolheadError, ValueError):
    """The text is not JSON.

    Attributes:
        message: what is wrong.
        offset: position of the first wrong byte, in UTF-8 bytes from 0.
        line, column: the same place, both counted from 1.
        is_incomplete: whether the text is a JSON text cut short.
    """

    def __init__(self, message: str, *, offset: int, line: int, column: int, is_incomplete: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.line = line
        self.column = column
        self.is_incomplete = is_incomplete


class ValidationError(ToolheadError, ValueError):
    """The data does not satisfy the schema.

    The `execute` family returns it, everything else raises it. `str()` of it is the text for the model.

    Attributes:
        error: always True, as in `to_dict()`.
        message: the whole text: first line, one line an issue, the data as provided (cut at 200 characters,
            secrets redacted, left out with `show_data=False`).
        issues: every violation found, as a tuple.
        phase: what was validated; None outside a tool call.
        tool_id: the tool of the call, or None.
        value: the value that failed. Not in `repr`.
    """

    error: Literal[True] = True

    def __init__(
        self,
        issues: Iterable[Issue],
        *,
        phase: ValidationPhase | None = None,
        tool_id: str | None = None,
        value: object = None,
        message: str | None = None,
        show_data: bool = True,
        redact: Sequence[str] = (),
    ) -> None:
        self.issues: tuple[Issue, ...] = tuple(issues)
        self.phase: ValidationPhase | None = phase
        self.tool_id = tool_id
        self.value = value
        if message is None:
            message = validation_message(
                self.issues, phase=phase, tool_id=tool_id, value=value, show_data=show_data, redact=redact
            )
        self.message = message
        super().__init__(message)

    @property
    def validation_errors(self) -> dict[str, Any]:
        """The issue texts as a tree of `{"errors": [...], "fields": {key: node}}`."""
        root: dict[str, Any] = {"errors": [], "fields": {}}
        for issue in self.issues:
            node = root
            for step in issue.path:
                node = node["fields"].setdefault(str(step), {"errors": [], "fields": {}})
            node["errors"].append(issue.message)
        return root

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: `error`, `message` and `validationErrors`, in this order."""
        return {"error": True, "message": self.message, "validationErrors": self.validation_errors}

    def __reduce__(self) -> tuple[Any, ...]:
        restore, (cls, args, state) = super().__reduce__()
        if state["issues"] is None:  # a value that cannot be pickled: the issues travel without values
            state["issues"] = tuple(map(_without_value, self.issues))
        return restore, (cls, args, state)

    def __repr__(self) -> str:
        pointers = ", ".join(issue.pointer or "root" for issue in self.issues)
        return f"ValidationError(phase={self.phase!r}, tool_id={self.tool_id!r}, issues at: {pointers})"


class ToolSuspended(ToolheadError):
    """A direct call suspended itself. Call again with `context.resume_data` to resume.

    Attributes:
        payload: what the body gave to `suspend`.
        options: the options it gave, by name.
        tool_id: the tool that suspended.
    """

    def __init__(self, payload: object, *, tool_id: str | None = None, options: dict[str, Any] | None = None) -> None:
        super().__init__(f"The tool {tool_id} suspended" if tool_id else "The call suspended")
        self.payload = payload
        self.tool_id = tool_id
        self.options = options or {}


class ToolError(ToolheadError):
    """The call went wrong for a reason other than invalid data.

    Attributes:
        tool_id, tool_call_id: which call, as far as known.
        phase: where in the call it happened (`execute`, `approval`, ...), or None.
    """

    def __init__(
        self,
        message: str,
        *,
        tool_id: str | None = None,
        tool_call_id: str | None = None,
        phase: str | None = None,
    ) -> None:
        super().__init__(message)
        self.tool_id = tool_id
        self.tool_call_id = tool_call_id
        self.phase = phase


class ToolNotFoundError(ToolError):
    """The model named a tool that does not exist."""


class ToolNotExecutableError(ToolError):
    """The tool is a definition without a body."""


class ToolTimeoutError(ToolError):
    """The body did not end within the tool's `timeout`."""


class ToolAbortedError(ToolError):
    """The call's abort signal fired before the body ended."""


class ToolExecutionError(ToolError):
    """The body raised; the original exception is the cause."""


class NotSuspendedError(ToolError):
    """The call that should be resumed or answered is not waiting."""


class AlreadyResolvedError(ToolError):
    """The call that should be resumed or answered has been answered before."""


class RunNotFoundError(ToolError):
    """No run with this id is stored."""


def _restore(cls: type[ToolheadError], args: tuple[Any, ...], state: dict[str, Any]) -> ToolheadError:
    error = cls.__new__(cls, *args)
    error.__cause__ = state.pop("__cause__", None)
    error.__dict__.update(state)
    return error


def _without_value(issue: Issue) -> Issue:
    return type(issue)(
        issue.path,
        message=issue.message,
        keyword=issue.keyword,
        expected=issue.expected,
        params=issue.params,
        schema_path=issue.schema_path,
    )


def _can_pickle(value: object) -> bool:
    import pickle

    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001  a value's own reduce may raise anything; the error must travel without it
        return False
    return True


# ------------------------------------------------------------------------------- the text of a failure

_FIX = "Please fix the following errors and try again:"
_FRAMES: dict[str | None, tuple[str, str]] = {
    "input": ("Tool input validation failed{0}. " + _FIX, "Provided arguments: "),
    "output": ("Tool output validation failed{0}. The tool returned invalid output:", "Returned output: "),
    "suspend": ("Tool suspension data validation failed{0}. " + _FIX, "Provided arguments: "),
    "resume": ("Tool resume data validation failed{0}. " + _FIX, "Provided arguments: "),
    "request_context": ("Request context validation failed{0}. " + _FIX, "Provided request context: "),
    None: ("Validation failed{0}:", "Provided data: "),
}
_SHOWN_CHARACTERS = 200
_UNSERIALISABLE = "[Unable to serialize data]"
_REDACTED = "[REDACTED]"


def validation_message(
    issues: Iterable[Issue],
    *,
    phase: ValidationPhase | None,
    tool_id: str | None,
    value: object,
    show_data: bool = True,
    redact: Sequence[str] = (),
) -> str:
    """The text of a `ValidationError`: the frame of its phase around one line an issue.

    `value` is shown as JSON data: a caller with instances converts them before.
    """
    first_line, label = _FRAMES[phase]
    lines = [first_line.format(f" for {tool_id}" if tool_id is not None else "")]
    lines += [f"- {'.'.join(map(str, issue.path)) or 'root'}: {issue.message}" for issue in issues]
    if show_data:
        lines += ["", label + _shown(value, redact)]
    return "\n".join(lines)


def _shown(value: object, redact: Sequence[str]) -> str:
    import json
    import re

    is_secret = secret_matcher(redact)
    try:
        tree = _Redactor(is_secret).redacted(value, ())
        text = ""
        for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(tree):
            text += part
            if len(text) > _SHOWN_CHARACTERS:
                break
    except (TypeError, ValueError, RecursionError):
        return _UNSERIALISABLE
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "... (truncated)"
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


class _Redactor:
    """A copy of JSON data that shows no secret, or an error where the data is cyclic, too deep or not JSON."""

    _DEPTH = 200
    # No more than this can be visible; the rest is neither copied nor checked.
    _ITEMS = 10_000

    def __init__(self, is_secret: Callable[[str], bool]) -> None:
        self.is_secret = is_secret
        self.items = 0

    def redacted(self, value: object, parents: tuple[int, ...]) -> object:
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if value - value == 0 else None
        if not isinstance(value, (dict, list, tuple)):
            # Decimals count as numbers; everything else is not data.
            if type(value).__name__ == "Decimal":
                return self.redacted(float(value), parents)  # type: ignore[arg-type]
            raise TypeError
        if id(value) in parents or len(parents) >= self._DEPTH:
            raise ValueError
        parents = (*parents, id(value))
        if isinstance(value, dict):
            copy: dict[str, object] = {}
            for key, member in value.items():
                if not isinstance(key, str):
                    raise TypeError
                if not self._counted():
                    break
                copy[key] = _REDACTED if self._hidden(key, member) else self.redacted(member, parents)
            return copy
        items: list[object] = []
        for member in value:
            if not self._counted():
                break
            items.append(self.redacted(member, parents))
        return items

    def _counted(self) -> bool:
        self.items += 1
        return self.items <= self._ITEMS

    def _hidden(self, key: str, member: object) -> bool:
        if not self.is_secret(key):
            return False
        # A plural with a number is a count (`tokens: 12`), not a list of secrets.
        return not (key.lower().endswith("tokens") and isinstance(member, (int, float)))

    def _text(self, text: str) -> str:
        # Argument text that could not be read, or an object sent as text: its keys cannot be told apart safely.
        if text.lstrip()[:1] in ("{", "[") and any(map(self.is_secret, _names_in(text))):
            return _REDACTED
        return text[: _SHOWN_CHARACTERS + 1]


# ------------------------------------------------------------------------------------------- secrets

_SECRETS = frozenset(
    {"password", "passwd", "secret", "token", "apikey", "auth", "authorization", "credential", "cookie", "privatekey"}
)
# With one of these beside it, `token` counts tokens.
_COUNTS = frozenset(
    [
        "budget",
        "cached",
        "completion",
        "count",
        "input",
        "length",
        "limit",
        "max",
        "maximum",
        "min",
        "minimum",
        "num",
        "number",
        "output",
        "per",
        "prompt",
        "reasoning",
        "remaining",
        "size",
        "total",
        "usage",
        "used",
    ]
)


def secret_matcher(extra: Sequence[str] = ()) -> Callable[[str], bool]:
    """A test whether a key names a secret, by whole words (`apiKey`, `api_key`, `x-api-key`; not `authorId`).

    `extra` adds key names, matched in the same way.
    """
    names = _SECRETS | {"".join(_words(name)) for name in extra}

    def is_secret(key: str) -> bool:
        words = _words(key)
        for start in range(len(words)):
            for stop in range(start + 1, len(words) + 1):
                name = "".join(words[start:stop])
                if name in names and not (name == "token" and not _COUNTS.isdisjoint(words)):
                    return True
        return False

    return is_secret


def _words(key: str) -> list[str]:
    import re

    words = map(str.lower, re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+", key))
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


def _names_in(text: str) -> list[str]:
    import re

    return re.findall(r"[A-Za-z][A-Za-z0-9_-]*", text)
