"""Which calls may run in the background, and how: what call, manager and tool say, in this order of weight.

Rules: section 17 of the behaviour document: the call's own `_background` before what the manager says of a tool before
the tool's option before the manager's defaults. A call cannot make a tool eligible that is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from toolhead.background import override as overrides
from toolhead.runs.background import AnyTool, Plan
from toolhead.tool_options import ToolBackgroundConfig, checked_background

ToolSettings: TypeAlias = 'Literal["all"] | Mapping[str, bool | ToolBackgroundConfig | Mapping[str, Any]] | None'
"""What a manager says of tools by their names: may or may not, or how; `all`: every tool may."""
CheckedSettings: TypeAlias = Literal["all"] | Mapping[str, bool | ToolBackgroundConfig] | None


def checked_settings(given: Any) -> CheckedSettings:
    """The manager's settings, typed and checked.

    Raises:
        TypeError, ValueError: naming the tool and what was expected.
    """
    if given is None or given == "all":
        return given  # type: ignore[no-any-return]
    if not isinstance(given, Mapping):
        raise TypeError(f"tools: expected 'all' or a mapping by tool name, got {type(given).__name__}")
    return {
        name: value if isinstance(value, bool) else checked_background(f"tools.{name}", value)
        for name, value in given.items()
    }


def config_of(settings: CheckedSettings, name: str, tool: AnyTool) -> ToolBackgroundConfig | None:
    """How calls of the tool run in the background; None where they do not."""
    own = tool.background or ToolBackgroundConfig()
    said = True if settings == "all" else (settings or {}).get(name)
    if said is None:
        config = own
    elif isinstance(said, bool):
        config = msgspec.structs.replace(own, enabled=said)
    else:  # what the manager's entry leaves open is the tool's
        open_to_tool = {field: getattr(own, field) for field in own.__struct_fields__ if getattr(said, field) is None}
        config = msgspec.structs.replace(said, **open_to_tool)
    return config if config.enabled and tool.can_execute else None


def plan_of(config: ToolBackgroundConfig, override: Any) -> Plan | None:
    """How a call with this override runs; None in the foreground."""
    said = overrides.given(override)
    if said.get("enabled") is False:
        return None
    disposition = said.get("disposition")
    if disposition is None:
        disposition = config.default_disposition
        if disposition == "foreground" and said.get("enabled"):  # the call asks for it
            disposition = "deferred"
    if disposition == "foreground":
        return None
    timeout, retries = said.get("timeoutMs"), said.get("maxRetries")
    return Plan(
        disposition=disposition,
        timeout=None if timeout is None else timeout / 1000,
        max_retries=None if retries is None else int(retries),
        wait_timeout=config.wait_timeout,
    )
