"""Tests about time that take none: an event loop whose clock jumps to the next timer when nothing else is to do."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`loop.time()` starts at 0 and goes only where a timer is waited for. Threads are waited for in real time."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        select = self._selector.select

        def jump(timeout: float | None = None) -> Any:
            if timeout is None:
                return select(None)
            self._now += max(0.0, timeout)
            return select(0)

        self._selector.select = jump

    def time(self) -> float:
        return self._now


def virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs an asynchronous test in virtual time."""

    @functools.wraps(test)
    def run(*args: Any, **options: Any) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(test(*args, **options))

    return run


def now() -> float:
    """Seconds of virtual time since the test began."""
    return asyncio.get_running_loop().time()
