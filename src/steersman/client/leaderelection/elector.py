"""Leader elector: contends for a lock, runs work while it leads, and releases the lock after the work has ended."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum, auto
from random import Random
from typing import TYPE_CHECKING, Any

from steersman.asynckit.backoff import jittered
from steersman.asynckit.cancellation import cancel_and_wait, wait_through
from steersman.asynckit.clock import RealClock
from steersman.asynckit.timeouts import woken
from steersman.client.leaderelection.contender import Contender, call
from steersman.client.leaderelection.rules import JITTER_FACTOR, GiveUp, Timing, Wait

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.asynckit.clock import Clock
    from steersman.client.leaderelection.candidate import LeaseCandidate
    from steersman.client.leaderelection.lock import Lock
    from steersman.client.leaderelection.rules import Action

_log = logging.getLogger(__name__)


class TermEnd(Enum):
    """Reason for the end of a term."""

    #: The work returned.
    WORK_ENDED = auto()
    #: The lease could not be renewed in time, or has another holder.
    LOST = auto()
    #: Coordinated leader election prefers another holder, and the lease was released for it.
    YIELDED = auto()


class LeaderElector:
    """Contends for a lock and runs work while it leads. Upstream: ``leaderelection.LeaderElector``.

    Before the lease is released and ``run`` returns, the work has ended, for every end of a term (loss, a preferred
    candidate, return of the work, cancellation); until then the lease is renewed if possible. With a ``candidate`` the
    elector takes part in coordinated leader election: it maintains the LeaseCandidate while ``run`` runs, takes only a
    lease that was assigned to it, and deletes the LeaseCandidate before it releases the lease, so that it is not
    elected again.
    """

    def __init__(
        self,
        lock: Lock,
        *,
        timing: Timing | None = None,
        clock: Clock | None = None,
        dice: Random | None = None,
        candidate: LeaseCandidate | None = None,
        release_on_exit: bool = True,
        on_new_leader: Callable[[str], None] | None = None,
        on_stopped_leading: Callable[[], None] | None = None,
    ) -> None:
        """Create an elector.

        ``on_new_leader`` receives the identity of each newly observed leader, including this one.
        ``on_stopped_leading`` is called after the work has ended, before the lease is released. Raises ValueError if
        the candidate's name is not the identity of the lock: the API server would elect a holder without an elector.
        """
        if candidate is not None and candidate.name != lock.identity:
            raise ValueError(f"candidate {candidate.name} does not have the identity of the lock, {lock.identity}")
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
            coordinated=candidate is not None,
            on_new_leader=on_new_leader,
        )
        self._yielding = asyncio.Event()
        self._candidate = candidate
        #: Task that maintains the LeaseCandidate while ``run`` runs.
        self._candidacy: asyncio.Task[None] | None = None

    @property
    def identity(self) -> str:
        return self._contender.identity

    @property
    def name(self) -> str:
        """Name of the lock, for logs."""
        return self._contender.name

    @property
    def is_leader(self) -> bool:
        """True if this contender leads, by the clock: false at once after a long pause of the process."""
        return self._contender.is_leader

    @property
    def leader(self) -> str:
        """Identity of the leader as last observed; empty without a leader."""
        return self._contender.leader

    def unhealthy_reason(self, *, tolerated_seconds: float = 20.0) -> str | None:
        """Return why this process should be restarted; None while healthy. Upstream: ``LeaderElector.Check``.

        Unhealthy: the observed holder is this contender, and its lease expired longer ago than tolerated.
        """
        return self._contender.unhealthy_reason(tolerated_seconds=tolerated_seconds)

    async def run(self, work: Callable[[], Awaitable[None]]) -> TermEnd:
        """Contend for the lock, run ``work`` while leading, and return why the term ended.

        Raises an error of ``work`` after the release. May be called again for another term.
        """
        self._yielding.clear()
        self._contender.ending = False
        follower = asyncio.create_task(self._contender.follow(), name=f"election {self.name}: watch")
        if self._candidate is not None:
            self._candidacy = asyncio.create_task(self._candidate.run(), name=f"election {self.name}: candidate")
        try:
            await self._acquire()
            return await self._lead(work)
        finally:
            if self._candidacy is not None:  # cancelled while contending: it may have been elected meanwhile
                await self._end_candidacy()
                await self._release()
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
        """Return the delay until the next attempt: the retry period with jitter, less if the lease expires earlier."""
        seconds = jittered(self._timing.retry_period_seconds, JITTER_FACTOR, self._dice)
        if isinstance(action, Wait) and action.until is not None:
            seconds = min(seconds, max(0.0, action.until - self._clock.monotonic()))
        return seconds

    # Leading

    async def _lead(self, work: Callable[[], Awaitable[None]]) -> TermEnd:
        work_task = asyncio.create_task(_run(work), name=f"election {self.name}: work")
        renewal = asyncio.create_task(self._renew(), name=f"election {self.name}: renewal")
        signal = asyncio.create_task(self._yielding.wait(), name=f"election {self.name}: yield")
        cancelled = False
        try:
            await asyncio.wait([work_task, renewal, signal], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            cancelled = True
        end = _term_end(work_task, signal)
        for task in (work_task, signal, renewal):  # work first: the lease is renewed until the work has ended
            cancelled |= await cancel_and_wait(task)
        call(self._on_stopped_leading)
        self._contender.record_event("stopped leading")
        self._contender.step_down()
        cancelled |= await self._end_candidacy()
        cancelled |= await self._release()
        failures = [task.exception() for task in (work_task, renewal) if not task.cancelled()]
        failure = next((error for error in failures if error is not None), None)
        if cancelled:
            if failure is not None:
                _log.error("%s: the work of the leader failed at its end", self.name, exc_info=failure)
            raise asyncio.CancelledError
        if failure is not None:
            raise failure
        return end

    async def _renew(self) -> None:
        """Renew the lease until leadership is lost."""
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

    async def _end_candidacy(self) -> bool:
        """Delete the LeaseCandidate; return True if this task was cancelled meanwhile."""
        candidacy, self._candidacy = self._candidacy, None
        if candidacy is None:
            return False
        cancelled = await cancel_and_wait(candidacy)
        if not candidacy.cancelled() and (error := candidacy.exception()) is not None:
            _log.error("%s: the candidate of %s failed", self.name, self.identity, exc_info=error)
        return cancelled

    async def _release(self) -> bool:
        """Release the lease if it is held; return True if this task was cancelled meanwhile."""
        if not self._release_on_exit:
            return False
        release = asyncio.create_task(self._contender.release(), name=f"election {self.name}: release")
        return await wait_through(release)  # bounded, and other contenders wait for it


def _term_end(work_task: asyncio.Task[Any], signal: asyncio.Task[Any]) -> TermEnd:
    if work_task.done():
        return TermEnd.WORK_ENDED
    return TermEnd.YIELDED if signal.done() else TermEnd.LOST


async def _run(work: Callable[[], Awaitable[None]]) -> None:
    await work()
