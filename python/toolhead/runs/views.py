"""The projections of one call's payloads: computed once each, for both targets.

Rules: spec/api.md section 6 (`transform`); behaviour document section 16. What is shown where is decided here, before a
chunk exists, so that a chunk never has to be made safe afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.runs.chunks import NOTHING, Projections
from toolhead.transforms import (
    TARGETS,
    Projection,
    ToolPayloadTransform,
    TransformPhase,
    TransformPolicy,
    project,
    wire_phase,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class CallViews:
    """What display and transcript see of one call."""

    def __init__(
        self, transform: ToolPayloadTransform | None, policy: TransformPolicy | None, tool_name: str, tool_call_id: str
    ) -> None:
        self._transform = transform
        self._policy = policy
        self._tool_name = tool_name
        self._tool_call_id = tool_call_id
        self._known: dict[TransformPhase, dict[str, Projection]] = {}
        self._payloads: dict[TransformPhase, Mapping[str, Any]] = {}

    @property
    def is_plain(self) -> bool:
        """Whether nothing is configured: every payload is shown as it is."""
        return self._policy is None and (
            self._transform is None or (self._transform.display is None and self._transform.transcript is None)
        )

    async def add(self, phase: TransformPhase, payload: Mapping[str, Any]) -> None:
        """Projects the payload of `phase`; a payload that was projected before is not projected again."""
        if not self.is_plain and not (phase in self._known and _is_same(self._payloads[phase], payload)):
            self._known[phase] = await self._project(phase, payload)
            self._payloads[phase] = payload

    async def once(self, phase: TransformPhase, payload: Mapping[str, Any]) -> Projections:
        """The projections of a payload of which there may be many: a delta, a part of the output."""
        if self.is_plain:
            return NOTHING
        found = await self._project(phase, payload)
        return {target: {wire_phase(phase): projection.to_dict()} for target, projection in found.items()}

    def of(self, *phases: TransformPhase) -> Projections:
        """The projections of these phases, as a chunk carries them. Each was added before."""
        if self.is_plain:
            return NOTHING
        return {
            target: {
                wire_phase(phase): self._known[phase][target].to_dict()
                for phase in phases
                if target in self._known[phase]
            }
            for target in TARGETS
        }

    def shown(self, target: str, phases: tuple[TransformPhase, ...], raw: Any) -> Any:
        """What `target` sees: the first of `phases` that shows something, else the last one's placeholder."""
        found = [self._known[phase][target] for phase in phases if target in self._known.get(phase, {})]
        if not found:
            return raw
        return next((projection for projection in found if not projection.is_hidden), found[-1]).value

    async def _project(self, phase: TransformPhase, payload: Mapping[str, Any]) -> dict[str, Projection]:
        found: dict[str, Projection] = {}
        for target in TARGETS:
            projection = await project(
                self._transform,
                target,
                phase,
                payload,
                policy=self._policy,
                tool_name=self._tool_name,
                tool_call_id=self._tool_call_id,
            )
            if projection is not None:
                found[target] = projection
        return found


def _is_same(known: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    try:
        return bool(known == payload)
    except Exception:  # noqa: BLE001  a value that cannot be compared is taken for another one
        return False
