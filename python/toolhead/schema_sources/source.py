"""What every kind of schema source comes down to, and how an owner's refusal is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from toolhead._core import Issue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Refused", "Source"]


class Source(NamedTuple):
    """A JSON Schema and, for a class, how to come to an instance and back.

    Attributes:
        json_schema: the schema that decides.
        instance_type: the class whose instances are taken as they are; None where data stays data.
        build: makes the declared type from data that the schema accepted, or raises `Refused`; None for data.
        dump: the JSON data of an instance; None for what the general table does.
    """

    json_schema: dict[str, Any] | bool
    instance_type: type | None = None
    build: Callable[[Any], Any] | None = None
    dump: Callable[[Any], Any] | None = None


class Refused(Exception):
    """The owner of a class refused data that the JSON Schema accepts."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        super().__init__()
        self.issues = tuple(issues)

    @classmethod
    def one(cls, path: Iterable[str | int], message: str, *, keyword: str, value: object = None) -> Refused:
        """A refusal with a single issue."""
        return cls([Issue(tuple(path), keyword=keyword, message=message, value=value)])
