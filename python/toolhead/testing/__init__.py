"""For tests of tools and of services that use them: no network, no model, no waiting.

Rules: spec/api.md section 9. `toolhead.testing.plugin` gives the same as fixtures to pytest.
"""

from toolhead.testing.checks import assert_valid_tool
from toolhead.testing.context import RecordingWriter, fake_context
from toolhead.testing.hooks import HookRecorder, record_hooks
from toolhead.testing.scripted import ScriptedCall, ScriptedModel

__all__ = [
    "HookRecorder",
    "RecordingWriter",
    "ScriptedCall",
    "ScriptedModel",
    "assert_valid_tool",
    "fake_context",
    "record_hooks",
]
