"""Toolhead: the tool layer for LLM applications."""

from toolhead._core import MISSING, Change, InputStream, Issue, Limits, Validator, __version__
from toolhead.errors import DecodeError, SchemaError, ValidationError

__all__ = ["MISSING", "Change", "DecodeError", "InputStream", "Issue", "Limits", "SchemaError", "ValidationError", "Validator", "__version__"]
