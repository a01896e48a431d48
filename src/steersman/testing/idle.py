"""Detection of an idle event loop: no callback is ready, and no thread of its executor is busy.

asyncio has no public way to ask for ready callbacks. Its loops have them in the deque ``_ready``. While a callback runs, the
deque contains exactly the callbacks still to run: the rest of this iteration, and those scheduled by earlier callbacks. uvloop
has no such deque and is rejected.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.workers import are_workers_busy, work_on_loop
from steersman.asynckit.clock import RealClock

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

#: Threads of the loop's default executor.
_THREADS_MAX: Final = 8
#: Interval of checks for busy threads; their results wake the loop anyway.
_THREAD_PAUSE_SECONDS: Final = 0.0005

#: Iterations of the loop between two reads of the time.
_PASSES_PER_LOOK: Final = 64
_REAL: Final = RealClock()


class LoopError(RuntimeError):
    """The running event loop is not supported."""


class CountingExecutor(ThreadPoolExecutor):
    """Default executor of a loop that counts running calls."""

    def __init__(self) -> None:
        super().__init__(_THREADS_MAX, thread_name_prefix="embedded cluster")
        self._loop = asyncio.get_running_loop()
        #: Futures of calls whose results the loop has not received.
        self._pending: set[Future[Any]] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call in a thread."""
        future = super().submit(fn, *args, **kwargs)
        self._pending.add(future)
        # After the callback by which the loop takes the result: until then the call counts.
        self._loop.call_soon(future.add_done_callback, self._pending.discard)
        return future

    @property
    def is_busy(self) -> bool:
        """True while a call runs or waits for a thread."""
        return bool(self._pending)


class InlineExecutor(ThreadPoolExecutor):
    """Default executor of a simulation: each call runs at once in the thread of the loop, so that its order is fixed."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 — it belongs to the caller that awaits the result
            future.set_exception(error)
        return future


class IdleDetector:
    """Detector of an idle loop. Tasks that wait for sockets, processes or timers of the loop do not count."""

    def __init__(self) -> None:
        """Raise ``LoopError`` unless the running loop is a loop of asyncio."""
        self._loop: Final = asyncio.get_running_loop()
        ready: deque[Any] | None = getattr(self._loop, "_ready", None)
        if ready is None:
            name = f"{type(self._loop).__module__}.{type(self._loop).__qualname__}"
            raise LoopError(f"an embedded cluster needs an event loop of asyncio itself, not {name}")
        self._ready: Final = ready
        self._executor: CountingExecutor | None = None
        #: Callers of ``wait`` between two checks.
        self._waiting = 0

    def use_executor(self, *, inline: bool = False) -> None:
        """Replace the loop's default executor, so that its threads are counted, or ``inline`` no threads are used."""
        if inline:
            work_on_loop(self._loop)
        self._executor = None if inline else CountingExecutor()
        self._loop.set_default_executor(InlineExecutor(1) if inline else self._executor or CountingExecutor())

    @property
    def has_threads(self) -> bool:
        """True while a thread of the executor is busy."""
        return are_workers_busy() or (self._executor is not None and self._executor.is_busy)

    async def wait(self, timeout_seconds: float | None = None) -> None:
        """Wait until the loop is idle. Raises ``TimeoutError`` after ``timeout_seconds`` of real time."""
        deadline = None if timeout_seconds is None else _REAL.monotonic() + timeout_seconds
        passes = 0
        while True:
            self._waiting += 1
            try:
                await asyncio.sleep(0)  # noqa: TID251 — one iteration of the loop, no wait
            finally:
                self._waiting -= 1
            passes += 1
            # Other waiters are always ready: they poll as this one does.
            if len(self._ready) > self._waiting:
                if deadline is not None and not passes % _PASSES_PER_LOOK and _REAL.monotonic() > deadline:
                    raise TimeoutError(f"the event loop is not idle after {timeout_seconds:g} seconds")
                continue
            if not self.has_threads:
                return
            await asyncio.sleep(_THREAD_PAUSE_SECONDS)  # noqa: TID251 — threads run in real time
