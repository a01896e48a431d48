"""Waits of an embedded cluster: until it has settled, until an object has a condition, until a predicate holds."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from steersman.asynckit.clock import RealClock
from steersman.testing.clock import VirtualClock
from steersman.testing.history import decode
from steersman.testing.references import read_reference
from steersman.testing.waiting import SettleError, WaitError, read_condition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.storage.store import Store
    from steersman.testing.clock import SteadyClock
    from steersman.testing.idle import IdleDetector
    from steersman.testing.observation import Observation

#: Bound, in real time, of the work at one instant of virtual time; more indicates an endless loop.
INSTANT_SECONDS: Final = 60.0
#: Polling interval, in real time, of work outside the event loop and of clusters with a real clock.
_PAUSE_SECONDS: Final = 0.002
#: Bound, in real time, for which a request in flight delays virtual time: the request may itself wait for time to pass.
IN_FLIGHT_SECONDS: Final = 10.0
_WRITES_SHOWN: Final = 10


class Waits:
    """Waits on one cluster. Timeouts of ``settle`` are real time, all others time of the cluster's clock."""

    def __init__(
        self,
        *,
        idle: IdleDetector,
        clock: VirtualClock | SteadyClock,
        store: Store,
        observation: Observation,
        catalog: Callable[[], Catalog],
    ) -> None:
        self._idle = idle
        self._clock = clock
        self._store = store
        self._observation = observation
        self._catalog = catalog
        self._real = RealClock()
        #: True while clients in other processes may be active.
        self.follows_outside = False
        #: Latest activity of clients in other processes that was followed by a quiet time.
        self._quiet_since: float | None = None

    async def settle_instant(self) -> None:
        """Wait until the work of an instant has settled, including other processes. Raises ``SettleError`` if it does not end."""
        since = self._observation.reconciles.total
        deadline = self._real.monotonic() + INSTANT_SECONDS
        while True:
            try:
                await self._idle.wait(max(0.001, deadline - self._real.monotonic()))
            except TimeoutError:
                raise SettleError(self._report("the work of one instant does not end", since)) from None
            if not self.follows_outside or self._clock.is_running or not self._has_outside_work():
                return
            if self._real.monotonic() >= deadline:
                raise SettleError(self._report("clients from outside do not become quiet", since))
            await self._real.sleep(_PAUSE_SECONDS)

    def _has_outside_work(self) -> bool:
        """Report whether a request waits for another process, or a client in another process may still react to an event."""
        now, app = self._real.monotonic(), self._observation.app
        if any(not request.is_held and now - request.started < IN_FLIGHT_SECONDS for request in app.in_flight):
            return True
        if app.latest_outside == self._quiet_since:
            return False
        if not self._is_outside_quiet(self._clock.quiet_seconds):
            return True
        self._quiet_since = app.latest_outside
        return False

    async def settle(self, timeout_seconds: float, *, quiet_seconds: float) -> None:
        """Wait until nothing is ready, in flight or queued, and clients in other processes are quiet. Raises ``SettleError``."""
        since = self._observation.reconciles.total
        deadline = self._real.monotonic() + timeout_seconds
        while True:
            remaining_seconds = deadline - self._real.monotonic()
            try:
                await self._idle.wait(max(0.001, remaining_seconds))
            except TimeoutError:
                raise SettleError(self._report(f"not settled within {timeout_seconds:g} seconds", since)) from None
            if not self._observation.app.in_flight and self._is_outside_quiet(quiet_seconds):
                return
            if remaining_seconds <= 0:
                raise SettleError(self._report(f"not settled within {timeout_seconds:g} seconds", since))
            await self._real.sleep(_PAUSE_SECONDS)

    def _is_outside_quiet(self, quiet_seconds: float) -> bool:
        """Report whether clients of other processes have sent no request and received no event for ``quiet_seconds``."""
        latest = self._observation.app.latest_outside
        return latest is None or self._real.monotonic() - latest >= quiet_seconds

    def _report(self, headline: str, since: int) -> str:
        observation = self._observation
        count = len(observation.reconciles.since(since))
        lines = [f"the cluster has not settled: {headline}; {count} reconciles meanwhile"]
        lines += [str(loop) for loop in observation.hot_loops()]
        lines += observation.reconciles.report(since)
        lines += [f"in flight: {request.record}" for request in observation.app.in_flight]
        return "\n  ".join(lines)

    async def wait_for(
        self, reference: str, condition: str, *, namespace: str, timeout_seconds: float
    ) -> dict[str, Any]:
        """Return the object once it has the condition; empty if it is deleted. Raises ``WaitError`` with its history."""
        is_met = read_condition(condition)
        ref = read_reference(reference, self._catalog(), namespace=namespace)
        latest: dict[str, Any] | None = None

        async def check() -> bool:
            nonlocal latest
            kv = await self._store.get(ref.key)
            latest = None if kv is None else decode(kv.value, kv.mod_revision)
            return is_met(latest)

        if not await self._until(check, timeout_seconds):
            versions = self._observation.describe_versions(ref.key)
            raise WaitError(f"{ref} has not reached {condition} within {timeout_seconds:g} seconds:\n{versions}")
        return latest or {}

    async def eventually(self, predicate: Callable[[], Any], *, timeout_seconds: float) -> Any:
        """Return the first true result of ``predicate``, which may be a coroutine function. Raises ``WaitError``.

        An AssertionError of the predicate counts as false; the last one is the cause of the error.
        """
        last: AssertionError | None = None
        result: Any = None

        async def check() -> bool:
            nonlocal last, result
            try:
                result = predicate()
                if inspect.isawaitable(result):
                    result = await result
            except AssertionError as error:
                last, result = error, None
            return bool(result)

        if not await self._until(check, timeout_seconds):
            name = getattr(predicate, "__qualname__", str(predicate))
            raise WaitError(
                f"{name} did not hold within {timeout_seconds:g} seconds; the last result is {result!r}"
            ) from last
        return result

    async def _until(self, check: Callable[[], Awaitable[bool]], timeout_seconds: float) -> bool:
        """Wait until ``check`` returns True while virtual time advances from timer to timer."""
        clock = self._clock
        deadline = clock.monotonic() + timeout_seconds
        while True:
            await self._idle.wait(INSTANT_SECONDS)
            if await check():
                return True
            remaining_seconds = deadline - clock.monotonic()
            if isinstance(clock, VirtualClock):
                if not await clock.advance_to_next_timer(within_seconds=remaining_seconds):
                    return False
            elif remaining_seconds <= 0:
                return False
            else:
                await clock.sleep(_PAUSE_SECONDS)

    async def assert_quiet(self, seconds: float) -> None:
        """Advance time; raise AssertionError if anything but heartbeats was written meanwhile."""
        total = self._observation.history.total
        if isinstance(self._clock, VirtualClock):
            await self._clock.advance(seconds)
        else:
            await self._clock.sleep(seconds)
        writes = self._observation.writes_since(total)
        if writes:
            lines = [self._observation.describe(change) for change in writes[:_WRITES_SHOWN]]
            raise AssertionError(f"{len(writes)} writes within {seconds:g} seconds:\n  " + "\n  ".join(lines))
