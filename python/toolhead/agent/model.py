"""What an agent needs of a model: whose form it speaks, and how it is asked.

Rules: spec/api.md section 7. Messages stay in the provider's own form from end to end: nothing is translated, so
nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from toolhead.providers.registry import Provider
    from toolhead.runs.toolset import AnyTool, ToolSet

    SchemaOf = Callable[[str, AnyTool], Any]


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model.

    `messages` are in the provider's form, `tools` in the form that `Model.definitions` gives, `instructions` the texts
    of the system's side; `stream`: whether the response is wanted piece by piece.
    """

    messages: Sequence[Any]
    tools: Sequence[dict[str, Any]] = ()
    instructions: Sequence[str] = ()
    stream: bool = True


class Model(Protocol):
    """A model that an agent may ask."""

    @property
    def provider(self) -> Provider:
        """Whose form its messages and its responses have."""
        ...

    def definitions(self, toolset: ToolSet, *, schema: SchemaOf | None = None) -> list[dict[str, Any]]:
        """The tools in the form in which the model is told of them; `schema` as of `ToolSet.definitions`."""
        ...

    def user_message(self, text: str) -> dict[str, Any]:
        """A user's message that is only text."""
        ...

    def respond(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        """The response: its events as they come, or one item that is the whole of it. Closing it ends the request."""
        ...
