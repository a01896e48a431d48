"""Worker threads for CPU-bound steps of requests, so that the event loop keeps serving.

A step is a synchronous function of data that only its request holds. Contracts:

* A step may read tables that are shared and immutable, or that are replaced or filled by single assignments. It reaches
  anything else that the loop changes through ``on_loop``.
* A step of ``with_allowance`` may run twice: it starts on the loop and starts again in a worker when it proves expensive.
* When the request is cancelled, the step ends at its next ``spend``, and its result is dropped.
* At most ``THREADS`` steps run at once; the others wait in order. The limits of requests in flight bound the queue.

Python threads share one interpreter lock, so a worker does not make a step faster. A step gives the lock to the loop about
every millisecond of metered work; between two calls of ``spend`` the loop waits for up to the interpreter's switch interval
(5 ms), and for single C calls until they return. After a long C call the step waits for the loop.
"""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import Future as ThreadFuture
from contextvars import Context, ContextVar, copy_context
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar
from weakref import WeakSet

from steersman.apimachinery.workmeter import Allowance, InterruptedWorkError, Interruption, WorkLimitError, metered

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 2
#: Work units of a step on the loop before it moves to a worker: about 20 ms.
LOOP_ALLOWANCE: Final = 25_000
#: Objects above these sizes are processed in workers from the start; about 20 ms of work each.
LARGE_BYTES: Final = 64 * 1024
LARGE_SLOW_BYTES: Final = 8 * 1024
#: Work units, about 1 ms, after which a worker gives the interpreter lock to the loop, and the pause in which it does.
YIELD_UNITS: Final = 2_000
_YIELD_SECONDS: Final = 50e-6
#: Units of one C call, about 4 ms, after which a worker waits for turns of the loop: a request that arrived meanwhile
#: takes about as many from its bytes to its answer.
TURN_UNITS: Final = 8_000
_TURNS: Final = 4
#: Longest wait for turns of the loop, and interval at which a worker that waits for a result checks for cancellation.
_POLL_SECONDS: Final = 0.5


def is_large(size: int, *, is_slow: bool = False) -> bool:
    """Report whether a body of ``size`` bytes belongs in a worker from the start; ``is_slow``: one in YAML or CBOR."""
    return size > (LARGE_SLOW_BYTES if is_slow else LARGE_BYTES)


class _StepMeter(Interruption):
    """Meter of a step: releases the interpreter lock to the loop for a moment, at intervals.

    After a long C call it waits until the loop has taken some turns, however long a busy machine keeps the loop from a
    processor: each request of the loop takes the lock several times, as its calls into the TLS library release it, and
    would wait for the next long call each time.
    """

    __slots__ = ("_loop", "_units")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop: Final = loop
        #: Units spent since the last pause.
        self._units = 0

    def spend(self, units: int) -> None:
        super().spend(units)
        self._units += units
        if self._units < YIELD_UNITS:
            return
        self._units = 0
        if units < TURN_UNITS:
            time.sleep(_YIELD_SECONDS)
        else:
            self._wait_for_turns()

    def _wait_for_turns(self) -> None:
        end = Event()
        try:
            self._loop.call_soon_threadsafe(_turn, self._loop, _TURNS, end)
        except RuntimeError:  # the loop is closed
            raise InterruptedWorkError from None
        end.wait(_POLL_SECONDS)


def _turn(loop: asyncio.AbstractEventLoop, left: int, end: Event) -> None:
    """Set ``end`` after ``left`` more turns of the loop."""
    if left:
        loop.call_soon(_turn, loop, left - 1, end)
    else:
        end.set()


class _Job:
    """Step and the loop that awaits it."""

    __slots__ = ("_context", "_function", "_future", "interruption", "loop")

    def __init__(self, function: Callable[[], Any], loop: asyncio.AbstractEventLoop, context: Context) -> None:
        self._function: Final = function
        self._context: Final = context
        self.loop: Final = loop
        #: None when no caller waits any more.
        self._future: asyncio.Future[Any] | None = loop.create_future()
        self.interruption: Final = _StepMeter(loop)

    async def result(self) -> Any:
        """Wait for the step; a cancellation interrupts it. For one caller."""
        assert self._future is not None
        try:
            return await self._future
        except asyncio.CancelledError:
            self.interruption.set()
            raise
        finally:
            self._future = None  # its exception references this frame, and so the job

    def run(self) -> None:
        """Run the step, in a worker."""
        if self.interruption.is_set:
            return
        try:
            result = self._context.run(self._metered)
        except BaseException as error:  # noqa: BLE001 — it belongs to the task that waits
            self._report(self._fail, error)
        else:
            self._report(self._succeed, result)

    def _metered(self) -> Any:
        token = _running.set(self)
        try:
            with metered(self.interruption):
                return self._function()
        finally:
            _running.reset(token)  # else job and context were a cycle, which holds the trees of the request

    def _report(self, settle: Callable[[Any], None], outcome: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(settle, outcome)
        except RuntimeError:  # the loop is closed
            self.interruption.set()

    def _succeed(self, result: Any) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_exception(error)


_running: Final[ContextVar[_Job | None]] = ContextVar("running", default=None)


class Workers:
    """Daemon threads that take steps from one queue; they start with the first step."""

    def __init__(self, threads: int) -> None:
        self._count: Final = threads
        self._lock: Lock = Lock()
        self._threads: list[Thread] = []
        #: None ends a thread.
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        #: Steps that wait or run.
        self.pending = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what ``function`` returns in a worker. Raises what it raises."""
        loop = asyncio.get_running_loop()
        if loop in _loops_without_workers:
            return function(*args, **kwargs)
        self._start()
        job = _Job(lambda: function(*args, **kwargs), loop, copy_context())
        self.pending += 1
        try:
            self._jobs.put(job)
            result: T = await job.result()
        finally:
            self.pending -= 1
        return result

    def forget(self) -> None:
        """Reset the state in the child of a fork, which has no threads."""
        self._lock, self._threads, self._jobs, self.pending = Lock(), [], SimpleQueue(), 0

    def stop(self) -> None:
        """End the threads after the steps that wait, and wait for them. The next step starts others."""
        with self._lock:
            threads, self._threads = self._threads, []
            for _ in threads:
                self._jobs.put(None)
        for thread in threads:
            thread.join()

    def _start(self) -> None:
        if self._threads:
            return
        with self._lock:
            if self._threads:
                return
            self._threads = [
                Thread(target=self._work, args=(self._jobs,), name=f"worker-{number}", daemon=True)
                for number in range(self._count)
            ]
            for thread in self._threads:
                thread.start()

    @staticmethod
    def _work(jobs: SimpleQueue[_Job | None]) -> None:
        while (job := jobs.get()) is not None:
            job.run()
            del job  # and with it the trees of its request


#: Loops that run all steps themselves.
_loops_without_workers: Final[WeakSet[asyncio.AbstractEventLoop]] = WeakSet()
_workers: Final = Workers(THREADS)
os.register_at_fork(after_in_child=_workers.forget)

#: Run a step in a worker from the start.
in_worker: Final = _workers.run

#: End the threads of workers, e.g. before a fork.
stop_workers: Final = _workers.stop


def work_on_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Let ``loop`` run all steps itself, so that their order is fixed: for simulations."""
    _loops_without_workers.add(loop)


def are_workers_busy() -> bool:
    """Report whether a step waits or runs in a worker."""
    return _workers.pending > 0


async def run_step(
    function: Callable[P, T],
    is_large: bool,  # noqa: FBT001 — arguments of the step follow
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run a step in a worker if its objects are large, else on the loop."""
    return await in_worker(function, *args, **kwargs) if is_large else function(*args, **kwargs)


async def with_allowance(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a step on the loop, and again in a worker if it spends more than ``LOOP_ALLOWANCE``."""
    try:
        with metered(Allowance(LOOP_ALLOWANCE)):
            return function(*args, **kwargs)
    except WorkLimitError:
        pass
    return await in_worker(function, *args, **kwargs)


def on_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call ``function`` on the loop, from a step that may run in a worker. Raises what it raises."""
    job = _running.get()
    if job is None:
        return function(*args, **kwargs)
    answer: ThreadFuture[T] = ThreadFuture()

    def call() -> None:
        try:
            answer.set_result(function(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 — it belongs to the step
            answer.set_exception(error)

    try:
        job.loop.call_soon_threadsafe(call)
    except RuntimeError:  # the loop is closed
        raise InterruptedWorkError from None
    while True:
        try:
            return answer.result(_POLL_SECONDS)
        except TimeoutError:
            if answer.done():
                raise
            job.interruption.spend(0)
