"""Toolhead: the tool layer for LLM applications."""

from toolhead._core import __version__

__all__ = ["__version__"]
