"""Mistral chat: the OpenAI form with whole calls, without indexes, and with an own rule for ids.

Rules: spec/api.md section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolhead.providers.openai_chat import OpenAIChatReader


class MistralReader(OpenAIChatReader):
    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        messages = super().assistant(ids)
        for message in messages:
            message["content"] = message["content"] or ""
        return messages
