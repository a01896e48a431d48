"""One contender's dealings with the lock: reading, deciding by ``rules``, writing, listening."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING

from steersman.apimachinery.errors import is_already_exists, is_conflict, is_forbidden, is_not_found
from steersman.asynckit.backoff import jittered
from steersman.asynckit.timeouts import Timeout
from steersman.client.errors import ClientError
from steersman.client.leaderelection import rules
from steersman.client.leaderelection.rules import JITTER_FACTOR, GiveUp, View, Wait, Write
from steersman.client.objects import compare_versions

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.client.leaderelection.lock import Lock, Seen
    from steersman.client.leaderelection.rules import Action, Timing

_log = logging.getLogger(__name__)


class Contender:
    """Knows the lock as well as one can, and does one try at a time; when to try is ``LeaderElector``'s business."""

    def __init__(
        self,
        lock: Lock,
        *,
        timing: Timing,
        clock: Clock,
        dice: Random,
        coordinated: bool,
        on_new_leader: Callable[[str], None] | None,
    ) -> None:
        self._lock = lock
        self._timing = timing
        self._clock = clock
        self._dice = dice
        self._coordinated = coordinated
        self._on_new_leader = on_new_leader
        self._view = View()
        #: What the next write is based on; None: there is no lock, or it was never read.
        self._seen: Seen | None = None
        #: What was seen last came over the watch, and is as good as read.
        self._heard = False
        self._reported = ""
        #: Something happened that is not to wait for the next try.
        self.changed = asyncio.Event()
        #: Another is preferred; the lock is kept only until work has ended.
        self.ending = False

    @property
    def identity(self) -> str:
        return self._lock.identity

    @property
    def name(self) -> str:
        """Of the lock."""
        return self._lock.name

    @property
    def is_leader(self) -> bool:
        """Whether this contender leads, by the clock."""
        return self._view.leads(self._clock.monotonic())

    @property
    def leader(self) -> str:
        """Identity of the leader as last seen; empty when there is none."""
        return self._view.record.holder if self._view.record is not None else ""

    @property
    def left_seconds(self) -> float:
        """How long leadership lasts without another renewal; 0 for who does not lead."""
        return max(0.0, (self._view.leads_until or 0.0) - self._clock.monotonic())

    def record_event(self, what: str) -> None:
        """Tell people, where the lock can."""
        call(self._lock.record_event, what)

    def step_down(self) -> None:
        """Lead no more, whatever the lock says."""
        self._view = rules.stepped_down(self._view)

    def unhealthy_reason(self, *, tolerated_seconds: float = 20.0) -> str | None:
        """For a watchdog: why this process should be restarted; None while all is well.

        That is when it holds the lease, as far as it knows, and that expired longer ago than tolerated.
        """
        record = self._view.record
        if record is None or record.holder != self.identity:
            return None
        expired_seconds = self._clock.monotonic() - self._view.changed_at - record.lease_duration_seconds
        if expired_seconds <= tolerated_seconds:
            return None
        return f"failed election to renew leadership on lease {self._lock.name}"

    # One try

    async def attempt(self) -> Action | None:
        """Read if need be, decide, write; None when that failed."""
        bound = self._timing.renew_deadline_seconds / 2
        if self._view.leads_until is not None:
            left = self._view.leads_until - self._clock.monotonic()
            if left <= 0:
                return self._decide()
            bound = min(bound, left)
        try:
            async with Timeout(bound, clock=self._clock):
                return await self._attempt_unbounded()
        except (ClientError, TimeoutError) as error:
            _log.warning("%s: %s could not renew or acquire the lease: %s", self._lock.name, self.identity, error)
            return None

    async def _attempt_unbounded(self) -> Action:
        heard, self._heard = self._heard, False
        if self._seen is not None and (heard or self.is_leader):
            action = self._decide()
            if not isinstance(action, Write):
                return action
            try:
                return await self._write(action)  # without reading first: who leads is the only one to write
            except ClientError as error:
                if not _is_lost_race(error):
                    raise
        self._note_read(await self._lock.read())
        action = self._decide()
        if not isinstance(action, Write):
            return action
        try:
            return await self._write(action)
        except ClientError as error:
            if not _is_lost_race(error):
                raise
            return Wait(None)

    async def _write(self, action: Write) -> Action:
        sent_at = self._clock.monotonic()
        if action.create or self._seen is None:
            seen = await self._lock.create(action.record)
        else:
            seen = await self._lock.replace(self._seen, action.record)
        if self._seen is not None and (compare_versions(seen.version, self._seen.version) or 0) < 0:
            self._view = rules.overtaken(self._view, identity=self.identity, timing=self._timing, sent_at=sent_at)
        else:
            self._seen = seen
            now = self._clock.monotonic()
            self._view = rules.written(action.record, timing=self._timing, sent_at=sent_at, now=now)
        self._report_leader()
        return action

    def _decide(self) -> Action:
        return rules.decide(
            self._view,
            identity=self.identity,
            timing=self._timing,
            now=self._clock.monotonic(),
            wall_time=self._clock.now(),
            coordinated=self._coordinated,
            ending=self.ending,
        )

    # The end of a term

    async def release(self) -> None:
        """Free the lock if it is still ours; tried twice, as a renewal may have been under way."""
        try:
            async with Timeout(self._timing.retry_period_seconds, clock=self._clock):
                if not await self._release_once():
                    self._note_read(await self._lock.read())
                    await self._release_once()
        except (ClientError, TimeoutError) as error:
            _log.warning("%s: the lease could not be released: %s", self._lock.name, error)

    async def _release_once(self) -> bool:
        """False when the lock is not as it was seen last."""
        record, seen = self._view.record, self._seen
        if record is None or seen is None or record.holder != self.identity:
            return True
        try:
            self._note(await self._lock.replace(seen, rules.released(record, wall_time=self._clock.now())))
        except ClientError as error:
            if _is_lost_race(error):
                return False
            raise
        _log.info("%s: %s has released the lease", self._lock.name, self.identity)
        return True

    # What is seen

    async def follow(self) -> None:
        """Hear of changes at once where the lock can be watched; without, every retry period does."""
        while True:
            started = self._clock.monotonic()
            try:
                async with aclosing(self._lock.watch()) as changes:  # type: ignore[type-var]
                    async for seen in changes:
                        self._hear(seen)
            except ClientError as error:
                if is_forbidden(error):
                    _log.info("%s: the lease cannot be watched, it is read instead: %s", self._lock.name, error)
                    return
                _log.debug("%s: the watch of the lease broke: %s", self._lock.name, error)
            else:
                if self._clock.monotonic() - started >= self._timing.retry_period_seconds:
                    continue  # the server ends each watch after some minutes
            await self._clock.sleep(jittered(self._timing.retry_period_seconds, JITTER_FACTOR, self._dice))

    def _hear(self, seen: Seen) -> None:
        """A change came over the watch, maybe one that is known, or was overtaken by a read or a write."""
        leads = self._view.leads_until is not None
        if self._seen is not None:
            order = compare_versions(seen.version, self._seen.version)
            if order is None and not leads:
                self.changed.set()  # cannot be told apart: read it
            if order is None or order <= 0:
                return
        self._note(seen)
        self._heard = True
        if leads and self._view.leads_until is None:
            self.changed.set()  # another holds it
            return
        action = self._decide()
        if isinstance(action, GiveUp) or (isinstance(action, Write) and (not leads or action.create)):
            self.changed.set()

    def _note_read(self, seen: Seen | None) -> None:
        if seen is not None:
            self._note(seen)
        else:
            self._seen = None
            self._view = rules.observed(self._view, None, identity=self.identity, now=self._clock.monotonic())

    def _note(self, seen: Seen) -> None:
        self._seen = seen if seen.record is not None else None
        self._view = rules.observed(self._view, seen.record, identity=self.identity, now=self._clock.monotonic())
        self._report_leader()

    def _report_leader(self) -> None:
        leader = self.leader
        if leader == self._reported:
            return
        self._reported = leader
        if leader:
            call(self._on_new_leader, leader)


def call(callback: Callable[..., None] | None, *arguments: str) -> None:
    """A callback's fault must not keep a lease from being released."""
    if callback is None:
        return
    try:
        callback(*arguments)
    except Exception:  # noqa: BLE001 — see above
        _log.exception("a callback of an election failed")


def _is_lost_race(error: Exception) -> bool:
    return is_conflict(error) or is_already_exists(error) or is_not_found(error)
