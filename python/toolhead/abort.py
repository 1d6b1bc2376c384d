"""`AbortController` and `AbortSignal`: telling a call that its result is no longer wanted.

Source: spec/api.md section 4. Safe between threads: a controller may abort from any thread, a signal may be
awaited in any loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

from toolhead.errors import ToolAbortedError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AbortController", "AbortSignal"]

_logger = logging.getLogger("toolhead")


class AbortSignal:
    """Whether a call is aborted, and why. Made by an `AbortController`, or by the call itself."""

    __slots__ = ("_callbacks", "_lock", "_reason", "aborted")

    def __init__(self) -> None:
        self.aborted = False
        self._reason: object = None
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def reason(self) -> object:
        """What was given to `abort`; None before, or where nothing was given."""
        return self._reason

    def raise_if_aborted(self) -> None:
        """Raises `ToolAbortedError` once the signal is aborted; a reason that is an exception is its cause."""
        if self.aborted:
            cause = self._reason if isinstance(self._reason, BaseException) else None
            text = "The call was aborted" if self._reason is None else f"The call was aborted: {self._reason}"
            raise ToolAbortedError(text) from cause

    async def wait(self) -> object:
        """Waits until the signal is aborted, and returns the reason."""
        fired, remove = self._future()
        try:
            await fired
        finally:
            remove()
        return self._reason

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Calls `callback()` when the signal is aborted: at once if it is, else in the aborting thread.

        What it raises is logged. Returns a function that removes the callback.
        """
        with self._lock:
            if not self.aborted:
                self._callbacks.append(callback)
                return lambda: self._remove(callback)
        _call(callback)
        return lambda: None

    def __repr__(self) -> str:
        return f"AbortSignal(aborted={self.aborted})"

    def _future(self) -> tuple[asyncio.Future[None], Callable[[], None]]:
        """A future of the running loop that is done when the signal is aborted, and what lets go of it."""
        loop = asyncio.get_running_loop()
        fired: asyncio.Future[None] = loop.create_future()

        def set_fired() -> None:
            if not fired.done():
                fired.set_result(None)

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(set_fired)
            except RuntimeError:
                _logger.debug("an abort signal was awaited in a loop that is closed")

        return fired, self.add_callback(wake)

    def _remove(self, callback: Callable[[], object]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def _abort(self, reason: object = None) -> None:
        with self._lock:
            if self.aborted:
                return
            self._reason = reason
            self.aborted = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            _call(callback)

    def _cancelled(self, raised: object) -> None:
        """Told by the native call what is thrown into it: only a cancellation aborts."""
        if isinstance(raised, asyncio.CancelledError) or raised is asyncio.CancelledError:
            self._abort(raised)


class AbortController:
    """Aborts what its `signal` was given to."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: object = None) -> None:
        """Aborts; the first reason stays."""
        self.signal._abort(reason)

    def __repr__(self) -> str:
        return f"AbortController(aborted={self.signal.aborted})"


def _call(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception:
        _logger.exception("a callback of an abort signal raised")
