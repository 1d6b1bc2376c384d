"""`ScriptedModel`: a model that says what a test wants it to say, and remembers what it was asked.

Rules: spec/api.md sections 7, 9 and the last row of 10. It speaks the form of OpenAI's chat completions, streamed and
whole, so that the whole path of a real model is taken.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from toolhead.runs.toolset import describe

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from toolhead.agent.model import ModelRequest, SchemaOf
    from toolhead.providers.registry import Provider
    from toolhead.runs.toolset import ToolSet


class ScriptedCall(msgspec.Struct, frozen=True):
    """A call that the model makes.

    Args:
        name: the tool, by the name that the model knows.
        arguments: data, written as JSON; or the argument text itself, whole JSON or not.
        id: the call's id; None: one is made from its place.
        pieces: the deltas in which the text is streamed; None: two halves.
    """

    name: str
    arguments: Any = {}
    id: str | None = None
    pieces: Sequence[str] | None = None

    @property
    def text(self) -> str:
        """The argument text."""
        if self.pieces is not None:
            return "".join(self.pieces)
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, separators=(",", ":"), ensure_ascii=False)

    @property
    def deltas(self) -> Sequence[str]:
        """The text in pieces."""
        if self.pieces is not None:
            return self.pieces
        half = -(-len(self.text) // 2)
        return [self.text[:half], self.text[half:]]


Part: TypeAlias = "str | ScriptedCall | Mapping[str, Any]"
ScriptedTurn: TypeAlias = "Part | BaseException | Iterable[Part] | Callable[[ModelRequest], Any]"
"""A text, a call, several of both; events of a chat completion as they are; what is raised; or what makes one of these
from the request, sync or async."""


class ScriptedModel:
    """Gives one scripted response after the other.

    Args:
        *turns: the responses, in order: see `ScriptedTurn`. More requests than responses are an `AssertionError`.

    Attributes:
        requests: what the model was asked, in order.
        tools_sent: the tools of the latest request in a form that is no provider's: `name`, `description`, `schema`,
            `strict`, `provider_options`, `input_examples`.
    """

    provider: Provider = "openai-chat"

    def __init__(self, *turns: ScriptedTurn) -> None:
        self._turns = list(turns)
        self.requests: list[ModelRequest] = []

    def __repr__(self) -> str:
        return f"ScriptedModel({len(self.requests)} of {len(self._turns)} turns)"

    @property
    def tools_sent(self) -> list[dict[str, Any]]:
        """See the class."""
        return [dict(tool) for tool in self.requests[-1].tools] if self.requests else []

    def definitions(self, toolset: ToolSet, *, schema: SchemaOf | None = None) -> list[dict[str, Any]]:
        """See `Model.definitions`."""
        told = ((describe(name, tool), tool) for name, tool in toolset.items())
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "schema": tool.schema if schema is None else schema(tool.name, made_of),
                "strict": tool.strict,
                "provider_options": dict(tool.options) or None,
                "input_examples": list(tool.examples) or None,
            }
            for tool, made_of in told
        ]

    def user_message(self, text: str) -> dict[str, Any]:
        """See `Model.user_message`."""
        return {"role": "user", "content": text}

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        """See `Model.respond`."""
        place = len(self.requests)
        self.requests.append(request)
        if place >= len(self._turns):
            raise AssertionError(f"The model was asked {place + 1} times; {len(self._turns)} responses are scripted")
        turn = self._turns[place]
        if callable(turn):
            turn = turn(request)
            if inspect.isawaitable(turn):
                turn = await turn
        if isinstance(turn, BaseException):
            raise turn
        parts: list[Any] = [turn] if isinstance(turn, (str, ScriptedCall, Mapping)) else list(turn)
        if request.stream:
            for event in _events(parts, place):
                yield event
        else:
            yield _whole(parts, place)


def _events(parts: list[Any], place: int) -> Iterator[dict[str, Any]]:
    """The response as streamed pieces."""
    calls = 0
    for part in parts:
        if isinstance(part, Mapping):
            yield dict(part)
        elif isinstance(part, ScriptedCall):
            head = {"index": calls, "id": _id(part, place, calls), "type": "function"}
            yield _chunk({"tool_calls": [{**head, "function": {"name": part.name, "arguments": ""}}]})
            for text in part.deltas:
                yield _chunk({"tool_calls": [{"index": calls, "function": {"arguments": text}}]})
            calls += 1
        else:
            yield _chunk({"content": _text(part)})
    if not any(isinstance(part, Mapping) for part in parts):
        yield _chunk({}, "tool_calls" if calls else "stop")


def _whole(parts: list[Any], place: int) -> dict[str, Any]:
    """The response in one piece."""
    if len(parts) == 1 and isinstance(parts[0], Mapping):
        return dict(parts[0])
    if any(isinstance(part, Mapping) for part in parts):
        raise TypeError("Events of a stream are scripted, and the model was asked for a whole response")
    calls = [
        {
            "id": _id(part, place, number),
            "type": "function",
            "function": {"name": part.name, "arguments": part.text},
        }
        for number, part in enumerate(part for part in parts if isinstance(part, ScriptedCall))
    ]
    content = "".join(_text(part) for part in parts if not isinstance(part, ScriptedCall))
    message = {"role": "assistant", "content": content or None, **({"tool_calls": calls} if calls else {})}
    reason = "tool_calls" if calls else "stop"
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def _id(call: ScriptedCall, place: int, number: int) -> str:
    return call.id if call.id is not None else f"call_{place + 1}_{number + 1}"


def _text(part: Any) -> str:
    if not isinstance(part, str):
        raise TypeError(f"A scripted response is made of texts, ScriptedCalls and events; got {type(part).__name__}")
    return part
