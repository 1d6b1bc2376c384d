"""A schema source whose check asks a person the first time."""

from typing import Any

from toolhead.suspend import suspend


class Asks:
    """Accepts every object once it was answered; until then its check suspends."""

    vendor, version = "tests", 1

    def __init__(self) -> None:
        self.__standard_schema__ = self
        self.is_answered = False

    def json_schema(self, mode: str = "input") -> dict[str, Any]:
        return {"type": "object"}

    def validate(self, value: Any) -> Any:
        if not self.is_answered:
            self.is_answered = True
            suspend({"may": "I?"}, resume_label="perhaps")
        return value
