"""Toolhead: the tool layer for LLM applications."""

from toolhead._core import MISSING, Change, InputStream, __version__

__all__ = ["MISSING", "Change", "InputStream", "__version__"]
