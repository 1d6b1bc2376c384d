"""Models over the providers' official SDKs: each takes the SDK's asynchronous client and passes its options through.

Rules: spec/api.md section 7. No SDK is imported here: the client brings all that is needed. A synchronous client is
refused, because a request that blocks a thread cannot be stopped when a turn is aborted.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from toolhead.agent.model import ModelRequest, SchemaOf
    from toolhead.providers.registry import Provider
    from toolhead.runs.toolset import ToolSet


class SDKModel:
    """What the models below share: the options, and a response that is closed when nobody reads on.

    Args:
        client: the SDK's asynchronous client.
        name: the model's name, as the API knows it.
        **options: members of every request, as they are; `tools` (the provider's own) stand after those of the agent.

    Raises:
        TypeError: the client is another one, or an option is one that the agent gives itself.
    """

    provider: Provider
    _client: ClassVar[str]
    """The class of the client, for the message of a refusal."""
    _given: ClassVar[frozenset[str]]
    """Members of the request that are not the caller's."""

    def __init__(self, client: Any, name: str, **options: Any) -> None:
        kind = type(self).__name__
        taken = sorted(self._given & options.keys())
        if taken:
            raise TypeError(f"{kind}: {taken[0]!r} is given by the agent, not as an option")
        try:
            create = self._method(client, stream=False)
        except AttributeError:
            raise TypeError(f"{kind}: expected a client of {self._client}, got {type(client).__name__}") from None
        if not inspect.iscoroutinefunction(inspect.unwrap(create)):
            raise TypeError(
                f"{kind}: expected the asynchronous client {self._client}, got {type(client).__name__}: "
                "a request that blocks a thread cannot be stopped"
            )
        self.client = client
        self.name = name
        self.options = options

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def definitions(self, toolset: ToolSet, *, schema: SchemaOf | None = None) -> list[dict[str, Any]]:
        """See `Model.definitions`."""
        return toolset.definitions(self.provider, schema=schema)

    def user_message(self, text: str) -> dict[str, Any]:
        """See `Model.user_message`."""
        return {"role": "user", "content": text}

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        """See `Model.respond`."""
        response = await self._method(self.client, stream=request.stream)(**self._members(request))
        if not hasattr(response, "__aiter__"):
            yield response
            return
        try:
            async for event in response:
                yield event
        finally:
            close = getattr(response, "close", None) or getattr(response, "aclose", None)
            if close is not None:
                await close()

    @staticmethod
    def _method(client: Any, *, stream: bool) -> Callable[..., Awaitable[Any]]:
        """The client's method that asks the model."""
        raise NotImplementedError

    def _members(self, request: ModelRequest) -> dict[str, Any]:
        """The members of the request, in the API's words."""
        raise NotImplementedError

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        """The caller's options, with all tools."""
        tools = [*request.tools, *self.options.get("tools", ())]
        return {**self.options, **({"tools": tools} if tools else {})}


class OpenAIChat(SDKModel):
    """OpenAI chat completions, over `openai.AsyncOpenAI`, for OpenAI and the servers that speak its form."""

    provider: Provider = "openai-chat"
    _client = "openai.AsyncOpenAI"
    _given = frozenset({"model", "messages", "stream"})

    @staticmethod
    def _method(client: Any, *, stream: bool) -> Callable[..., Awaitable[Any]]:  # noqa: ARG004  one method does both
        method: Callable[..., Awaitable[Any]] = client.chat.completions.create
        return method

    def _members(self, request: ModelRequest) -> dict[str, Any]:
        system = [{"role": "system", "content": text} for text in request.instructions]
        messages = [*system, *request.messages]
        return {"model": self.name, "messages": messages, "stream": request.stream, **self._options(request)}


class OpenAIResponses(SDKModel):
    """OpenAI responses, over `openai.AsyncOpenAI`."""

    provider: Provider = "openai-responses"
    _client = "openai.AsyncOpenAI"
    _given = frozenset({"model", "input", "instructions", "stream"})

    @staticmethod
    def _method(client: Any, *, stream: bool) -> Callable[..., Awaitable[Any]]:  # noqa: ARG004  one method does both
        method: Callable[..., Awaitable[Any]] = client.responses.create
        return method

    def _members(self, request: ModelRequest) -> dict[str, Any]:
        system = {"instructions": _joined(request)} if request.instructions else {}
        items = list(request.messages)
        return {"model": self.name, "input": items, "stream": request.stream, **system, **self._options(request)}


class Anthropic(SDKModel):
    """Anthropic messages, over `anthropic.AsyncAnthropic`.

    Args:
        client, name: as of every model.
        max_tokens: how many tokens a response may have; the API wants it said.
        **options: as of every model.
    """

    provider: Provider = "anthropic"
    _client = "anthropic.AsyncAnthropic"
    _given = frozenset({"model", "messages", "system", "stream"})

    def __init__(self, client: Any, name: str, *, max_tokens: int = 8192, **options: Any) -> None:
        super().__init__(client, name, max_tokens=max_tokens, **options)

    @staticmethod
    def _method(client: Any, *, stream: bool) -> Callable[..., Awaitable[Any]]:  # noqa: ARG004  one method does both
        method: Callable[..., Awaitable[Any]] = client.messages.create
        return method

    def _members(self, request: ModelRequest) -> dict[str, Any]:
        system = {"system": _joined(request)} if request.instructions else {}
        messages = list(request.messages)
        return {"model": self.name, "messages": messages, "stream": request.stream, **system, **self._options(request)}


class Gemini(SDKModel):
    """Google's generateContent, over `google.genai.Client` or its `aio`. The options are members of the config."""

    provider: Provider = "gemini"
    _client = "google.genai.Client"
    _given = frozenset({"model", "contents", "system_instruction", "automatic_function_calling"})

    def user_message(self, text: str) -> dict[str, Any]:
        """See `Model.user_message`."""
        return {"role": "user", "parts": [{"text": text}]}

    @staticmethod
    def _method(client: Any, *, stream: bool) -> Callable[..., Awaitable[Any]]:
        models = getattr(client, "aio", client).models
        method: Callable[..., Awaitable[Any]] = models.generate_content_stream if stream else models.generate_content
        return method

    def _members(self, request: ModelRequest) -> dict[str, Any]:
        # The SDK would call functions itself if it were given any; the calls are the run's work.
        config = {"automatic_function_calling": {"disable": True}, **self._options(request)}
        if request.instructions:
            config["system_instruction"] = _joined(request)
        return {"model": self.name, "contents": list(request.messages), "config": config}


def _joined(request: ModelRequest) -> str:
    return "\n\n".join(request.instructions)
