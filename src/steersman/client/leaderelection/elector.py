"""Terms of an election: contend, lead, and let go only when the work has ended."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum, auto
from random import Random
from typing import TYPE_CHECKING, Any

from steersman.asynckit.backoff import jittered
from steersman.asynckit.clock import RealClock
from steersman.asynckit.endings import cancel_and_wait, wait_through
from steersman.asynckit.timeouts import woken
from steersman.client.leaderelection.contender import Contender, call
from steersman.client.leaderelection.rules import JITTER_FACTOR, GiveUp, Timing, Wait

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.asynckit.clock import Clock
    from steersman.client.leaderelection.lock import Lock
    from steersman.client.leaderelection.rules import Action

_log = logging.getLogger(__name__)


class TermEnd(Enum):
    """Why a term has ended."""

    #: The work returned by itself.
    WORK_ENDED = auto()
    #: The lease could not be renewed in time, or was taken.
    LOST = auto()
    #: Coordinated election prefers another, and the lease was given up for it.
    YIELDED = auto()


class LeaderElector:
    """Contends for a lock; while it leads, its work runs.

    Whatever ends a term (loss, a better candidate, the end of the work, cancellation), the work has ended before the
    lease is released and ``run`` returns; until then the lease is renewed if that can be done.
    """

    def __init__(
        self,
        lock: Lock,
        *,
        timing: Timing | None = None,
        clock: Clock | None = None,
        dice: Random | None = None,
        coordinated: bool = False,
        release_on_exit: bool = True,
        on_new_leader: Callable[[str], None] | None = None,
        on_stopped_leading: Callable[[], None] | None = None,
    ) -> None:
        """``on_new_leader`` hears each leader's identity when it is first seen, this contender's own too.

        ``on_stopped_leading`` is called when the work has ended, before the lease is released.
        """
        self._timing = timing or Timing()
        self._clock = clock or RealClock()
        self._dice = dice or Random()  # noqa: S311 — jitter
        self._release_on_exit = release_on_exit
        self._on_stopped_leading = on_stopped_leading
        self._contender = Contender(
            lock,
            timing=self._timing,
            clock=self._clock,
            dice=self._dice,
            coordinated=coordinated,
            on_new_leader=on_new_leader,
        )
        self._yielding = asyncio.Event()

    @property
    def identity(self) -> str:
        return self._contender.identity

    @property
    def name(self) -> str:
        """Of the lock."""
        return self._contender.name

    @property
    def is_leader(self) -> bool:
        """Whether this contender leads, judged by the clock: a process that slept too long learns it here first."""
        return self._contender.is_leader

    @property
    def leader(self) -> str:
        """Identity of the leader as last seen; empty when there is none."""
        return self._contender.leader

    def unhealthy_reason(self, *, tolerated_seconds: float = 20.0) -> str | None:
        """For a watchdog: why this process should be restarted; None while all is well.

        That is when it holds the lease, as far as it knows, and that expired longer ago than tolerated.
        """
        return self._contender.unhealthy_reason(tolerated_seconds=tolerated_seconds)

    async def run(self, work: Callable[[], Awaitable[None]]) -> TermEnd:
        """Contend until this contender leads, run ``work``, and say why its term has ended.

        An error of ``work`` is raised when the lease is released. May be called again for another term.
        """
        self._yielding.clear()
        self._contender.ending = False
        follower = asyncio.create_task(self._contender.follow(), name=f"election {self.name}: watch")
        try:
            await self._acquire()
            return await self._lead(work)
        finally:
            await cancel_and_wait(follower)

    # Contending

    async def _acquire(self) -> None:
        _log.info("%s: %s attempts to acquire the leader lease", self.name, self.identity)
        while True:
            self._contender.changed.clear()
            action = await self._contender.attempt()
            if self.is_leader:
                _log.info("%s: %s has become the leader", self.name, self.identity)
                self._contender.record_event("became leader")
                return
            self._contender.step_down()
            await woken(self._contender.changed, self._pause_seconds(action), clock=self._clock)

    def _pause_seconds(self, action: Action | None) -> float:
        """Until the next try: the retry period with jitter, or the lease's end if that is earlier."""
        seconds = jittered(self._timing.retry_period_seconds, JITTER_FACTOR, self._dice)
        if isinstance(action, Wait) and action.until is not None:
            seconds = min(seconds, max(0.0, action.until - self._clock.monotonic()))
        return seconds

    # Leading

    async def _lead(self, work: Callable[[], Awaitable[None]]) -> TermEnd:
        job = asyncio.create_task(_awaited(work), name=f"election {self.name}: work")
        renewal = asyncio.create_task(self._renew(), name=f"election {self.name}: renewal")
        signal = asyncio.create_task(self._yielding.wait(), name=f"election {self.name}: yield")
        cancelled = False
        try:
            await asyncio.wait([job, renewal, signal], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            cancelled = True
        end = _reason_of(job, signal)
        for task in (job, signal, renewal):  # work first: the lease is renewed until it has ended
            cancelled |= await cancel_and_wait(task)
        call(self._on_stopped_leading)
        self._contender.record_event("stopped leading")
        cancelled |= await self._finish_term()
        failures = [task.exception() for task in (job, renewal) if not task.cancelled()]
        failure = next((one for one in failures if one is not None), None)
        if cancelled:
            if failure is not None:
                _log.error("%s: the work of the leader failed at its end", self.name, exc_info=failure)
            raise asyncio.CancelledError
        if failure is not None:
            raise failure
        return end

    async def _renew(self) -> None:
        """Until leadership is lost."""
        while True:
            seconds = min(self._timing.retry_period_seconds, self._contender.left_seconds)
            await woken(self._contender.changed, seconds, clock=self._clock)
            self._contender.changed.clear()
            action = await self._contender.attempt()
            if isinstance(action, GiveUp):
                _log.info("%s: %s gives up the lease: %s", self.name, self.identity, action.reason)
                if not action.yields:
                    return
                self._contender.ending = True
                self._yielding.set()
            if not self.is_leader:
                _log.info("%s: %s has lost the lease", self.name, self.identity)
                return

    async def _finish_term(self) -> bool:
        """Let the lease go; whether this task was cancelled meanwhile."""
        self._contender.step_down()
        if not self._release_on_exit:
            return False
        release = asyncio.create_task(self._contender.release(), name=f"election {self.name}: release")
        return await wait_through(release)  # it is bounded, and others wait for it


def _reason_of(job: asyncio.Task[Any], signal: asyncio.Task[Any]) -> TermEnd:
    if job.done():
        return TermEnd.WORK_ENDED
    return TermEnd.YIELDED if signal.done() else TermEnd.LOST


async def _awaited(work: Callable[[], Awaitable[None]]) -> None:
    await work()
