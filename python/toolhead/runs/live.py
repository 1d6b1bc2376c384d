"""One call of a run, from its first piece of text to its one result.

Rules: spec/api.md section 6; behaviour document sections 11 to 15. Input and body go through `toolhead.call`,
questions through `runs.asking`; this file puts hooks, chunks and the state machine around them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from toolhead import call, hooks
from toolhead.context import AgentToolExecutionContext, prepared_context
from toolhead.errors import (
    ToolAbortedError,
    ToolError,
    ToolExecutionError,
    ToolNotFoundError,
    ValidationError,
)
from toolhead.model_output import map_output
from toolhead.providers.answers import Answer, stored_form
from toolhead.runs import asking, carried, chunks
from toolhead.runs.arguments import ArgumentStream, checked_arguments
from toolhead.runs.background import placeholder
from toolhead.runs.calls import CallResult, Outcome, error_form
from toolhead.runs.in_background import InBackground
from toolhead.runs.sendable import sendable
from toolhead.runs.views import CallViews
from toolhead.runs.writer import RunWriter
from toolhead.suspend import Suspension

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolhead.runs.calls import CallRecord
    from toolhead.runs.run import Run
    from toolhead.runs.toolset import AnyTool

_logger = logging.getLogger("toolhead")

TaskAbout: TypeAlias = "dict[str, Any] | None"


class LiveCall:
    """A call while its run is in memory.

    `post` takes what happens while nobody awaits it: chunks, and the call itself when it has its result or waits.
    """

    def __init__(self, run: Run, record: CallRecord, tool: AnyTool | None, post: Callable[[Any], None]) -> None:
        self.run = run
        self.record = record
        self.tool = tool
        self.post = post
        self.is_whole = False
        """Whether the call comes in one piece: no start and no delta is told."""
        self.task: asyncio.Task[None] | None = None
        self.result: CallResult | None = None
        self.ends: list[chunks.Chunk] = []
        """What ends the call's part of the step, until it is told: result, error, denial, or the question it waits for;
        of a deferred call the placeholder, and later what comes of it."""
        self.is_told = False
        """Whether its part of the step was told: what comes later of a deferred call is told by itself."""
        transform = None if tool is None else tool.transform
        self.is_echo = False
        """Whether another object of the same call does the same, and has run the hooks."""
        self.is_answered = False
        """Whether somebody's answer is being worked on."""
        self.refused_answer: ValidationError | None = None
        """Why the answer was refused: the call still waits."""
        self.views = CallViews(transform, run.runner.transform_policy, record.tool_name, record.tool_call_id)
        background = None if tool is None else run.runner.background
        self.behind = None if background is None else InBackground(self, background)
        beside = None if background is None else background.override_key
        self.arguments = ArgumentStream(tool, beside, judges=not self._may_carry)
        self.carried: carried.Carried | None = None
        """What the arguments say about the resumption of another call."""

    # ------------------------------------------------------------------------------------- while it streams

    async def started(self) -> list[chunks.Chunk]:
        """The model began the call."""
        if self.is_whole:
            return []
        await self._hook("on_input_start", hooks.InputStartEvent, messages=self.run.input_messages)
        return [chunks.InputStreamingStart(**self.named, **self._origin)]

    async def delta(self, text: str) -> list[chunks.Chunk]:
        """More argument text came; an empty piece says nothing."""
        if not text:
            return []
        is_verdict = self.arguments.push(text)
        if self.record.phase != "streaming":  # answered already; the conversation still wants the whole text
            return []
        value = self.arguments.value
        messages = self.run.input_messages
        await self._hook("on_input_delta", hooks.InputDeltaEvent, input_text_delta=text, value=value, messages=messages)
        projections = await self.views.once("input_delta", {"input_text_delta": text})
        made = [chunks.ToolCallDelta(**self.named, args_text_delta=text, value=value, projections=projections)]
        return [*made, await self._rejected()] if is_verdict else [*made]

    async def _rejected(self) -> chunks.Chunk:
        issues = self.arguments.rejection
        told = tuple({"pointer": i.pointer, "keyword": i.keyword, "message": i.message} for i in issues)
        await self.views.add("error", {"error": {"name": "ValidationError", "issues": told}})
        offset = issues[0].offset or 0
        return chunks.ToolInputRejected(**self.named, offset=offset, issues=told, projections=self.views.of("error"))

    async def completed(self, *, cut_off: bool, replacement: str | None) -> list[chunks.Chunk]:
        """No more text will come."""
        self.record.args_text = self.arguments.text if replacement is None else replacement
        self.record.cut_off = cut_off
        args = self.record.args
        await self.views.add("input", {"input": args})
        text = self.record.args_text
        whole = chunks.ToolCall(
            **self.named, **self._origin, args=args, args_text=text, projections=self.views.of("input")
        )
        return [whole] if self.is_whole else [chunks.InputStreamingEnd(**self.named), whole]

    # ----------------------------------------------------------------------------------------- its own life

    async def live(self) -> None:
        """From whole arguments to a result, or to a question: the task of a new call."""
        try:
            await self._live()
        except asyncio.CancelledError:
            await self._aborted()
            raise
        except Exception as error:
            # Not the body's doing, which is a result: a fault of this library or of a schema's owner.
            _logger.exception("the call %s of the tool '%s' failed", self.record.tool_call_id, self.record.tool_name)
            await self.broke(error, "call")
        finally:
            self.post(self)

    async def _live(self) -> None:
        record, tool = self.record, self.tool
        if tool is None:
            names = ", ".join(self.run.runner.toolset) or "none"
            message = f"The tool {record.called!r} does not exist. Available tools: {names}"
            await self.failed(ToolNotFoundError(message, tool_call_id=record.tool_call_id))
            return
        record.digest = asking.digest(tool, record)
        await self._begin(tool, {})

    async def _begin(self, tool: AnyTool, members: dict[str, Any]) -> None:
        """From the arguments to the body, or to who has to answer first. `members`: what an answer brings."""
        record = self.record
        try:
            checked = self._checked_input(tool)
            if isinstance(checked, ValidationError):
                await self.refused(checked)
                return
            if record.phase in ("streaming", "suspended") and record.reached != "running":
                record.advance("available")
            if record.reached is None:
                record.reached = "available"
                await self._hook(
                    "on_input_available",
                    hooks.InputAvailableEvent,
                    input=checked.value,
                    messages=self.run.input_messages,
                )
            if not tool.can_execute:
                record.advance("client")
                return
            is_decided = record.approved or record.reached == "running"
            needed = False if is_decided else await asking.needs_approval(self, tool, checked.value, members)
        except Suspension as suspension:
            await self.suspended(tool, suspension)
            return
        if isinstance(needed, ValidationError):
            await self._refused_inside(needed, is_resumed="resume_data" in members)
        elif needed:
            await asking.ask(self, checked.value)
        else:
            await self._execute(tool, checked, members if record.reached == "running" else {})

    async def approved(self) -> None:
        """A person said yes: the task of the answered call."""
        self.record.approved = True
        await self._go_on({})

    async def resumed(self, data: Any) -> None:
        """Somebody answered a suspension: the task of the resumed call."""
        await self.views.add("resume", {"resume_data": data})
        await self._go_on({"resume_data": data, "suspend_payload": self.record.suspend_payload})

    async def _go_on(self, members: dict[str, Any]) -> None:
        try:
            assert self.tool is not None  # noqa: S101  a call without a tool never waits
            await self.views.add("input", {"input": self.record.args})
            await self._begin(self.tool, members)
        except asyncio.CancelledError:
            await self._aborted()
            raise
        finally:
            self.post(self)

    def begin_answer(self, post: Callable[[Any], None]) -> None:
        """Somebody's answer begins to be worked on; what happens goes to `post`."""
        self.is_answered, self.refused_answer, self.post = True, None, post
        self.ends.clear()

    def take_ends(self) -> list[chunks.Chunk]:
        """What ends its part of the step, to be told now."""
        taken, self.ends, self.is_told = self.ends, [], True
        return taken

    async def provided(self, output: Any) -> None:
        """Somebody else ran the tool: `output` was accepted by its schema."""
        await self.succeeded(output, ())

    async def interrupted(self, error: ToolError, text: str | None) -> None:
        """The step ends before the call has a result: this is it. `text`: the argument text that was read."""
        if self.record.phase not in ("deferred", "done") and not self.record.is_waiting and not self.record.server:
            self.record.args_text = self.record.args_text or text or self.arguments.text
            await self.failed(error)

    async def answer_early(self) -> None:
        """The arguments can no longer become valid: the result is that, before the model has written the rest."""
        assert self.tool is not None  # noqa: S101  only a tool's schema rejects
        self.record.args_text = self.arguments.text
        await self.refused(ValidationError(self.arguments.rejection, phase="input", tool_id=self.tool.id))

    # ------------------------------------------------------------------------------------------------ steps

    def _checked_input(self, tool: AnyTool) -> call.Accepted | ValidationError:
        text = self.record.args_text
        if self._may_carry and (text.strip() or not self.record.cut_off):
            text, self.carried = carried.split(text)
        planned = text if self.behind is None else self.behind.planned(tool, text)
        if isinstance(planned, ValidationError):
            return planned
        return checked_arguments(tool, planned, cut_off=self.record.cut_off)

    async def _execute(self, tool: AnyTool, checked: call.Accepted, members: dict[str, Any]) -> None:
        self.record.advance("running")
        self.record.reached = "running"
        is_resumed = "resume_data" in members
        if self.carried is not None and not is_resumed:
            taken = await self._take_up(tool, self.carried)
            if taken is None:
                return
            members = {**members, **taken}
        if self.behind is not None and await self.behind.takes(tool, checked, members):
            return
        try:
            context = call.with_repairs(prepared_context(self.members(members)), checked.repairs)
            async with self.run.slot() as left_behind:
                if self.run.signal.aborted:
                    raise ToolAbortedError("The run was aborted", tool_id=tool.id, phase="execute")  # noqa: TRY301
                output = await call.observed_run(tool, checked.value, context, left_behind=left_behind)
        except Suspension as suspension:
            await self.suspended(tool, suspension)
        except ToolError as error:
            await self.failed(error)
        except Exception as error:  # noqa: BLE001  whatever a body raises is this call's result and nobody else's
            await self.broke(error, "execute")
        else:
            if isinstance(output, ValidationError):
                await self._refused_inside(output, is_resumed=is_resumed)
            else:
                await self.succeeded(output, checked.repairs)

    async def _take_up(self, tool: AnyTool, said: carried.Carried) -> dict[str, Any] | None:
        """What the arguments bring to the body when they resume another call; None where the call ended on that."""
        if self.run.take_up is None:
            return {}
        try:
            refused = await self.run.take_up(self, said)
        except Suspension as suspension:
            await self.suspended(tool, suspension)
        except ToolError as error:
            await self.failed(error)
        except Exception as error:  # noqa: BLE001  the store's or a schema's fault is this call's result
            await self.broke(error, "resume")
        else:
            if refused is None:
                return {"resume_data": said.data}
            await self.refused(refused)
        return None

    async def _refused_inside(self, error: ValidationError, *, is_resumed: bool) -> None:
        """A schema refused something after the input."""
        if error.phase == "resume" and is_resumed:  # the suspension stays open: somebody may answer again
            self.record.advance("suspended")
            self.refused_answer = self.named_error(error)
        else:
            await self.refused(error)

    async def suspended(self, tool: AnyTool, suspension: Suspension) -> None:
        """The call waits to be resumed."""
        record = self.record
        args = record.args
        record.advance("suspended")
        record.suspend_payload = sendable(suspension.payload)
        record.resume_label = suspension.options.get("resume_label")
        await self._hook(
            "on_suspend",
            hooks.SuspendEvent,
            tool_name=record.tool_name,
            payload=suspension.payload,
            messages=self.run.input_messages,
        )
        await self.views.add("suspend", {"input": args, "suspend_payload": suspension.payload})
        error = None if suspension.error is None else self.named_error(suspension.error).to_dict()
        if error is not None:
            await self.views.add("error", {"input": args, "error": error})
        self.ends.append(
            chunks.ToolCallSuspended(
                **self.named,
                suspend_payload=suspension.payload,
                args=args,
                resume_schema=asking.resume_schema_text(tool),
                resume_label=record.resume_label,
                error=error,
                projections=self.views.of("input", "suspend", *(("error",) if error is not None else ())),
            )
        )

    async def succeeded(self, output: Any, repairs: tuple[str, ...], *, task: TaskAbout = None) -> None:
        """The call has its output. `task`: id and status of its task in the background, told with the result."""
        tool, args = self.tool, self.record.args
        assert tool is not None  # noqa: S101  only a tool has an output
        await self._hook("on_output", hooks.OutputEvent, tool_name=self.record.tool_name, output=output)
        mapped = await map_output(tool.id, tool.to_model_output, output)
        model_output = None if mapped is None else stored_form(sendable(mapped))
        await self.views.add("output", {"input": args, "output": output})
        self.end(
            CallResult(**self.about, status="ok", output=output, repairs=repairs),
            Outcome(status="ok", result=sendable(output), model_output=model_output),
            chunks.ToolResult(
                **self.named,
                args=args,
                result=output,
                model_output=model_output,
                repairs=repairs,
                task=task,
                projections=self.views.of("input", "output"),
            ),
        )

    async def refused(self, error: ValidationError, *, task: TaskAbout = None) -> None:
        """The call's data is invalid."""
        error = self.named_error(error)
        args, told = self.record.args, error.to_dict()
        await self._error_hook(error)
        await self.views.add("input", {"input": args})
        await self.views.add("output", {"input": args, "output": told})
        self.end(
            CallResult(**self.about, status="invalid", error=error),
            Outcome(status="invalid", result=told, message=error.message),
            chunks.ToolResult(
                **self.named,
                args=args,
                result=told,
                is_error=True,
                task=task,
                projections=self.views.of("input", "output"),
            ),
        )

    async def broke(self, error: Exception, phase: str) -> None:
        """The body raised, or something else that is no `ToolError`."""
        failure = ToolExecutionError(
            str(error) or type(error).__name__,
            tool_id=self.record.tool_id,
            tool_call_id=self.record.tool_call_id,
            phase=phase,
        )
        failure.__cause__ = error
        await self.failed(failure)

    async def failed(self, error: ToolError, *, told: dict[str, Any] | None = None, task: TaskAbout = None) -> None:
        """The call went wrong; `told`: what is told of the error, where that is not all of it."""
        args, told = self.record.args, told or error_form(error)
        await self._error_hook(error.__cause__ if isinstance(error, ToolExecutionError) and error.__cause__ else error)
        await self.views.add("input", {"input": args})
        await self.views.add("error", {"input": args, "error": {"name": told["name"], "message": told["message"]}})
        self.end(
            CallResult(**self.about, status="error", error=error),
            Outcome(status="error", result=told, message=told["message"]),
            chunks.ToolError(
                **self.named, error=told, args=args, task=task, projections=self.views.of("input", "error")
            ),
        )

    async def _aborted(self) -> None:
        if self.record.phase not in ("deferred", "done") and not self.record.is_waiting:
            error = ToolAbortedError("The run was stopped before the call ended", tool_call_id=self.record.tool_call_id)
            await self.failed(error)

    def end(self, result: CallResult, outcome: Outcome, chunk: chunks.Chunk) -> None:
        """The call has its one result, told by `chunk`."""
        self.record.advance("done")
        self.record.outcome = outcome
        self.result = msgspec.structs.replace(result, answer=outcome.answer())
        self.ends.append(chunk)

    # ---------------------------------------------------------------------------------------------- members

    def members(self, more: dict[str, Any], *, in_background: bool = False) -> dict[str, Any]:
        """The members of the context that the body sees."""
        run, call_id = self.run, self.record.tool_call_id
        agent = AgentToolExecutionContext(
            messages=run.input_messages, tool_call_id=call_id, is_background_task=in_background, **run.agent
        )
        members: dict[str, Any] = {
            "request_context": run.request_context,
            "agent": agent,
            "tool_call_id": call_id,
            "writer": RunWriter(self),
            "idempotency_key": f"{run.id}:{call_id}",
        }
        if run.abort_signal is not None:
            members["abort_signal"] = run.abort_signal
        return members | more

    def named_error(self, error: ValidationError) -> ValidationError:
        """The model knows the tool by the name it was given, and its arguments as data."""
        if self.tool is None or error.phase not in ("input", "resume", "suspend"):
            return error
        named = ValidationError(
            error.issues,
            phase=error.phase,
            tool_id=self.record.tool_name,
            value=self.record.args if error.phase == "input" else error.value,
            show_data=self.tool.show_data,
            redact=self.tool.redact,
        )
        named.__cause__ = error.__cause__
        return named

    async def _hook(self, name: str, event: Callable[..., Any], **members: Any) -> None:
        if self.is_echo or self.tool is None or (hook := getattr(self.tool, name)) is None:
            return
        made = event(tool_call_id=self.record.tool_call_id, abort_signal=self.run.signal, **members)
        await hooks.run_hook(self.tool.id, name, hook, made)

    async def _error_hook(self, error: BaseException) -> None:
        name, messages = self.record.tool_name, self.run.input_messages
        await self._hook("on_error", hooks.ErrorEvent, tool_name=name, error=error, messages=messages)

    @property
    def _may_carry(self) -> bool:
        """Whether the arguments may say that they resume another call."""
        return self.tool is not None and self.tool.id in self.run.resumable

    @property
    def provider_id(self) -> str:
        """The id in the conversation: the provider's own, or ours where it sent none."""
        return self.record.provider_id or self.record.tool_call_id

    @property
    def answer(self) -> Answer:
        """What the model is given."""
        record = self.record
        if record.outcome is not None:
            told = record.outcome.answer()
        else:
            assert record.task_id is not None  # noqa: S101  asked of calls that have a result or are deferred
            told = {"type": "text", "value": placeholder(record.task_id)}
        return Answer(self.provider_id, record.provider_id is not None, record.called, record.kind, told)

    @property
    def _where(self) -> dict[str, Any]:
        return {"tool_id": self.record.tool_id, "tool_call_id": self.record.tool_call_id}

    @property
    def about(self) -> dict[str, Any]:
        """Which call it is."""
        return {"tool_call_id": self.record.tool_call_id, "tool_name": self.record.tool_name}

    @property
    def named(self) -> dict[str, Any]:
        """The members of every chunk about the call."""
        return {"run_id": self.run.id, **self.about}

    @property
    def _origin(self) -> dict[str, Any]:
        title = None if self.tool is None else self.tool.title
        return {"title": title, "provider_executed": self.record.server or None}
