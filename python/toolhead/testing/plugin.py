"""The pytest plugin: what `toolhead.testing` gives, as fixtures.

Rules: spec/api.md section 9. It is there wherever the package is installed; what it gives is imported when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolhead._core import ToolExecutionContext
    from toolhead.testing.hooks import HookRecorder
    from toolhead.testing.scripted import ScriptedModel


@pytest.fixture
def scripted_model() -> type[ScriptedModel]:
    """`ScriptedModel`, to be called with the responses: `scripted_model(ScriptedCall("weather", {...}), "Done")`."""
    from toolhead.testing.scripted import ScriptedModel

    return ScriptedModel


@pytest.fixture
def fake_context() -> Callable[..., ToolExecutionContext]:
    """`toolhead.testing.fake_context`."""
    from toolhead.testing.context import fake_context

    return fake_context


@pytest.fixture
def hook_recorder() -> HookRecorder:
    """A new `HookRecorder` for each test."""
    from toolhead.testing.hooks import HookRecorder

    return HookRecorder()


@pytest.fixture
def assert_valid_tool() -> Callable[..., None]:
    """`toolhead.testing.assert_valid_tool`."""
    from toolhead.testing.checks import assert_valid_tool

    return assert_valid_tool
