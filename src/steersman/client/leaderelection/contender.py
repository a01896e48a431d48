"""Contender for a lock: reads, decides by ``rules``, writes and watches. ``elector`` schedules its attempts."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from steersman.asynckit.backoff import jittered
from steersman.asynckit.timeouts import Timeout
from steersman.client.errors import AlreadyExists, ClientError, Conflict, Forbidden, NotFound
from steersman.client.leaderelection import rules
from steersman.client.leaderelection.rules import JITTER_FACTOR, GiveUp, View, Wait, Write
from steersman.client.objects import compare_versions

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.client.leaderelection.lock import Lock, ObservedRecord
    from steersman.client.leaderelection.rules import Action, Timing

_log = logging.getLogger(__name__)

#: Errors of a write that another contender's write preceded.
_LOST_RACE: Final = (Conflict, AlreadyExists, NotFound)


class Contender:
    """View of the lock, updated by reads, writes and a watch, and single attempts to acquire or renew it."""

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
        #: Base of the next write; None without a lock, or before the first read.
        self._observed: ObservedRecord | None = None
        #: True if ``_observed`` came from the watch, which makes a read unnecessary.
        self._is_watched = False
        self._reported_leader = ""
        #: Set on changes that need an attempt now.
        self.changed = asyncio.Event()
        #: Another holder is preferred; the lock is kept only until work has ended.
        self.ending = False

    @property
    def identity(self) -> str:
        return self._lock.identity

    @property
    def name(self) -> str:
        """Name of the lock, for logs."""
        return self._lock.name

    @property
    def is_leader(self) -> bool:
        """True if this contender leads, by the clock."""
        return self._view.leads(self._clock.monotonic())

    @property
    def leader(self) -> str:
        """Identity of the leader as last observed; empty without a leader."""
        return self._view.record.holder if self._view.record is not None else ""

    @property
    def left_seconds(self) -> float:
        """Seconds until leadership ends without another renewal; 0 unless leading."""
        return max(0.0, (self._view.leads_until or 0.0) - self._clock.monotonic())

    def record_event(self, message: str) -> None:
        """Record an event about this contender, if the lock has a recorder."""
        call(self._lock.record_event, message)

    def step_down(self) -> None:
        """Stop leading, regardless of the lock."""
        self._view = rules.stepped_down(self._view)

    def unhealthy_reason(self, *, tolerated_seconds: float = 20.0) -> str | None:
        """Return why this process should be restarted; None while healthy. Upstream: ``LeaderElector.Check``.

        Unhealthy: the observed holder is this contender, and its lease expired longer ago than tolerated.
        """
        record = self._view.record
        if record is None or record.holder != self.identity:
            return None
        expired_seconds = self._clock.monotonic() - self._view.changed_at - record.lease_duration_seconds
        if expired_seconds <= tolerated_seconds:
            return None
        return f"failed election to renew leadership on lease {self._lock.name}"

    # Attempts

    async def attempt(self) -> Action | None:
        """Read if necessary, decide, write; return the action, or None if the attempt failed."""
        bound = self._timing.renew_deadline_seconds / 2
        if self._view.leads_until is not None:
            remaining = self._view.leads_until - self._clock.monotonic()
            if remaining <= 0:
                return self._decide()
            bound = min(bound, remaining)
        try:
            async with Timeout(bound, clock=self._clock):
                return await self._attempt_unbounded()
        except (ClientError, TimeoutError) as error:
            _log.warning("%s: %s could not renew or acquire the lease: %s", self._lock.name, self.identity, error)
            return None

    async def _attempt_unbounded(self) -> Action:
        is_watched, self._is_watched = self._is_watched, False
        if self._observed is not None and (is_watched or self.is_leader):
            action = self._decide()
            if not isinstance(action, Write):
                return action
            try:
                return await self._write(action)  # without reading first: only the leader writes
            except _LOST_RACE:
                pass
        self._observe_read(await self._lock.read())
        action = self._decide()
        if not isinstance(action, Write):
            return action
        try:
            return await self._write(action)
        except _LOST_RACE:
            return Wait(None)

    async def _write(self, action: Write) -> Action:
        sent_at = self._clock.monotonic()
        if action.create or self._observed is None:
            observed = await self._lock.create(action.record)
        else:
            observed = await self._lock.replace(self._observed, action.record)
        if self._observed is not None and (compare_versions(observed.version, self._observed.version) or 0) < 0:
            self._view = rules.overtaken(self._view, identity=self.identity, timing=self._timing, sent_at=sent_at)
        else:
            self._observed = observed
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

    # Release

    async def release(self) -> None:
        """Release the lock if it is held, within the renew deadline; two attempts, as a renewal may have been in flight."""
        try:
            async with Timeout(self._timing.renew_deadline_seconds, clock=self._clock):
                if not await self._release_once():
                    self._observe_read(await self._lock.read())
                    await self._release_once()
        except (ClientError, TimeoutError) as error:
            _log.warning("%s: the lease could not be released: %s", self._lock.name, error)

    async def _release_once(self) -> bool:
        """Release the lock; return False when it is not as last observed."""
        record, observed = self._view.record, self._observed
        if record is None or observed is None or record.holder != self.identity:
            return True
        try:
            self._observe(await self._lock.replace(observed, rules.released(record, wall_time=self._clock.now())))
        except _LOST_RACE:
            return False
        _log.info("%s: %s has released the lease", self._lock.name, self.identity)
        return True

    # Observation

    async def follow(self) -> None:
        """Watch the lock; without permission, changes are only observed every retry period."""
        while True:
            started = self._clock.monotonic()
            try:
                async with aclosing(self._lock.watch()) as changes:  # type: ignore[type-var]
                    async for observed in changes:
                        self._observe_event(observed)
            except Forbidden as error:
                _log.info("%s: the lease cannot be watched, it is read instead: %s", self._lock.name, error)
                return
            except ClientError as error:
                _log.debug("%s: the watch of the lease broke: %s", self._lock.name, error)
            else:
                if self._clock.monotonic() - started >= self._timing.retry_period_seconds:
                    continue  # the server closes each watch after some minutes
            await self._clock.sleep(jittered(self._timing.retry_period_seconds, JITTER_FACTOR, self._dice))

    def _observe_event(self, observed: ObservedRecord) -> None:
        """Handle a watch event, which may be older than the last read or write."""
        leads = self._view.leads_until is not None
        if self._observed is not None:
            order = compare_versions(observed.version, self._observed.version)
            if order is None and not leads:
                self.changed.set()  # versions are not comparable: read the lock
            if order is None or order <= 0:
                return
        self._observe(observed)
        self._is_watched = True
        if leads and self._view.leads_until is None:
            self.changed.set()  # another contender holds it
            return
        action = self._decide()
        if isinstance(action, GiveUp) or (isinstance(action, Write) and (not leads or action.create)):
            self.changed.set()

    def _observe_read(self, observed: ObservedRecord | None) -> None:
        if observed is not None:
            self._observe(observed)
        else:
            self._observed = None
            self._view = rules.observed(self._view, None, identity=self.identity, now=self._clock.monotonic())

    def _observe(self, observed: ObservedRecord) -> None:
        self._observed = observed if observed.record is not None else None
        self._view = rules.observed(self._view, observed.record, identity=self.identity, now=self._clock.monotonic())
        self._report_leader()

    def _report_leader(self) -> None:
        leader = self.leader
        if leader == self._reported_leader:
            return
        self._reported_leader = leader
        if leader:
            call(self._on_new_leader, leader)


def call(callback: Callable[..., None] | None, *arguments: str) -> None:
    """Call a callback and log its exception: the lease must be released in any case."""
    if callback is None:
        return
    try:
        callback(*arguments)
    except Exception:  # noqa: BLE001 — see the docstring
        _log.exception("a callback of an election failed")
