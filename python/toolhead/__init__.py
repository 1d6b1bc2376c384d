"""Toolhead: the tool layer for LLM applications.

What defines and calls a tool is imported with the package; everything else when it is first used.
"""

__all__ = [
    "MISSING",
    "Change",
    "DecodeError",
    "InputStream",
    "Issue",
    "Limits",
    "SchemaError",
    "ValidationError",
    "Validator",
    "__version__",
]
