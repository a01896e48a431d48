"""Lease controller: the Lease that a component renews as its heartbeat.

Kubelets and API servers have one each; a component counts as dead when its Lease is older than its duration.
Upstream: ``k8s.io/component-helpers/apimachinery/lease``. Promises, each with its test:

- one write per interval, without a read before it unless another client writes the Lease;
- unlimited attempts: no error of the server, the connection or a hook stops the renewals;
- every request has a deadline, so that a server that accepts connections without responding is detected;
- a refused connection fails an attempt at once.
"""

from __future__ import annotations

import logging
from random import Random
from typing import TYPE_CHECKING, Final, Protocol

from steersman.apimachinery.timestamps import format_micro_time
from steersman.apimachinery.trees import Tree, copy_tree
from steersman.asynckit.clock import RealClock
from steersman.asynckit.timeouts import Timeout
from steersman.client.errors import AlreadyExists, ClientError, Conflict, NotFound
from steersman.client.resource_types import tree
from steersman.client.sending import RetryPolicy
from steersman.runtime.hooks import call_hook, check_hook
from steersman.runtime.periodic import run_every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.asynckit.clock import Clock
    from steersman.client import Client


_log = logging.getLogger(__name__)

LEASES: Final = tree("coordination.k8s.io/v1", "Lease")
#: Successive attempts to update the Lease before the next interval (``maxUpdateRetries``).
UPDATE_ATTEMPTS_MAX: Final = 5
#: Wait between attempts to ensure that the Lease exists; doubles before each wait, up to the maximum (``maxBackoff``).
_BACKOFF_SECONDS: Final = 0.1
_BACKOFF_SECONDS_MAX: Final = 7.0
#: Maximum random fraction added to each interval, so that components do not renew in step.
JITTER: Final = 0.04
#: Default deadline of a request, as a share of the renew interval: the second attempt has failed after one interval.
DEADLINE_SHARE: Final = 0.5
#: As client-go: a refused connection is reported at once. The attempts of the heartbeat are the retries.
_RETRY: Final = RetryPolicy(retry_failed_connections=False)


class HeartbeatMetrics(Protocol):
    """Metrics of the heartbeats of a process; called on the event loop, must not block."""

    def started(self, heartbeat: LeaseHeartbeat) -> None:
        """Start exporting the age of the heartbeat's Lease."""

    def stopped(self, heartbeat: LeaseHeartbeat) -> None:
        """Stop exporting the age of the heartbeat's Lease."""

    def renewed(self, *, namespace: str, duration_seconds: float) -> None:
        """Count an accepted create or update."""

    def failed(self, *, namespace: str, operation: str) -> None:
        """Count a failed ``get``, ``create``, ``update`` or ``process_lease``."""


class LeaseHeartbeat:
    """Creates a Lease and renews it; one instance for each Lease, whose ``run`` is a task."""

    def __init__(
        self,
        client: Client | None,
        *,
        holder_identity: str,
        lease_duration_seconds: int,
        renew_interval_seconds: float,
        namespace: str,
        lease_name: str = "",
        on_repeated_failure: Callable[[], Awaitable[object] | object] | None = None,
        process_lease: Callable[[Tree], Awaitable[object] | object] | None = None,
        request_deadline_seconds: float | None = None,
        metrics: HeartbeatMetrics | None = None,
        clock: Clock | None = None,
        dice: Random | None = None,
    ) -> None:
        """Raises ValueError unless the duration exceeds the interval, TypeError for a hook with a wrong signature.

        ``lease_name`` is ``holder_identity`` by default. ``request_deadline_seconds`` bounds each request and each hook;
        by default it is half of the renew interval.

        Hooks are plain functions or coroutine functions; their errors are logged. ``on_repeated_failure()`` is called at the
        second consecutive failed update and each later one, except conflicts; the kubelet closes its connections there.
        ``process_lease(lease)`` changes the Lease in place before each create and update, for labels
        or an owner reference. If it raises, a missing Lease is not created until the next interval, while an existing one is
        still renewed.
        """
        if not holder_identity:
            raise ValueError("holder_identity may not be empty")
        if not 0 < renew_interval_seconds < lease_duration_seconds:
            raise ValueError(
                f"renew_interval_seconds ({renew_interval_seconds}) must be positive and less than"
                f" lease_duration_seconds ({lease_duration_seconds})"
            )
        if request_deadline_seconds is not None and request_deadline_seconds <= 0:
            raise ValueError(f"request_deadline_seconds ({request_deadline_seconds}) must be positive")
        if on_repeated_failure is not None:
            check_hook("on_repeated_failure", on_repeated_failure)
        if process_lease is not None:
            check_hook("process_lease", process_lease, "lease")
        self.namespace: Final = namespace
        self.lease_name: Final = lease_name or holder_identity
        self._deadline = request_deadline_seconds or renew_interval_seconds * DEADLINE_SHARE
        self._client = client and client.with_options(deadline_seconds=self._deadline, retry=_RETRY)
        self._identity = holder_identity
        self._duration = lease_duration_seconds
        self._interval = renew_interval_seconds
        self._on_repeated_failure = on_repeated_failure
        self._process_lease = process_lease
        self._metrics = metrics
        self._clock = clock or (client.clock if client is not None else RealClock())
        self._dice = dice or Random()  # noqa: S311 — jitter
        self._renewed = self._clock.monotonic()
        #: Lease as last written; base of the next update.
        self._latest: Tree | None = None

    @property
    def age_seconds(self) -> float:
        """Seconds since the last accepted renewal; before the first one, since the creation of the heartbeat."""
        return self._clock.monotonic() - self._renewed

    async def run(self) -> None:
        """Renew now, and an interval after the end of each renewal, until cancelled. Returns immediately without a client."""
        if self._client is None:
            _log.info("lease heartbeat of %s has no client, will not claim or renew leases", self._identity)
            return
        if self._metrics is not None:
            self._metrics.started(self)
        try:
            await run_every(self._interval, self.beat, jitter=JITTER, clock=self._clock, dice=self._dice, log=_log)
        finally:
            if self._metrics is not None:
                self._metrics.stopped(self)

    async def renew_once(self) -> None:
        """Create or update the Lease in a single attempt, e.g. to report a missing permission at the start of a program.

        Raises ClientError.
        """
        if self._client is None:
            return
        lease, created = await self._get_or_create()
        if lease is not None and not created:
            lease, _ = await self._prepare(lease)
            await self._write("update", self._client.update, lease)

    async def beat(self) -> None:
        """Renew once: update the Lease as last written; if that fails, get or create it first.

        Returns after the renewal, or after ``UPDATE_ATTEMPTS_MAX`` failed updates of a Lease that was just read.
        """
        if self._latest is not None:
            if await self._update(self._latest):
                return
            _log.info("failed to update lease %s based on the last write, ensuring that it exists", self.lease_name)
        lease, created = await self._ensure()
        self._latest = lease
        if lease is not None and not created and not await self._update(lease):
            _log.error(
                "failed %d attempts to update lease %s, will retry after %s s",
                UPDATE_ATTEMPTS_MAX, self.lease_name, self._interval,
            )  # fmt: skip

    async def _update(self, base: Tree) -> bool:
        """Report whether one of the attempts succeeded."""
        assert self._client is not None
        for attempt in range(UPDATE_ATTEMPTS_MAX):
            lease, _ = await self._prepare(base)
            try:
                await self._write("update", self._client.update, lease)
            except ClientError as error:
                _log.warning("failed to update lease %s: %s", self.lease_name, error)
                if isinstance(error, Conflict):
                    newer, created = await self._ensure()
                    if newer is None:
                        return False
                    if created:  # the renewTime is current
                        return True
                    base = newer
                elif attempt > 0:
                    await self._report_repeated_failure()
            else:
                return True
        return False

    async def _ensure(self) -> tuple[Tree | None, bool]:
        """Return the Lease and whether this call created it; retry with backoff until the server responds.

        None: the Lease does not exist, and ``process_lease`` failed for the new one.
        """
        seconds = _BACKOFF_SECONDS
        while True:
            try:
                return await self._get_or_create()
            except ClientError as error:
                seconds = min(2 * seconds, _BACKOFF_SECONDS_MAX)
                _log.warning(
                    "failed to ensure lease %s exists, will retry in %.1f s: %s", self.lease_name, seconds, error
                )
                await self._clock.sleep(seconds)

    async def _get_or_create(self) -> tuple[Tree | None, bool]:
        assert self._client is not None
        try:
            return await self._get(), False
        except NotFound:
            pass
        lease, is_processed = await self._prepare(None)
        if not is_processed:
            return None, False
        try:
            return await self._write("create", self._client.create, lease), True
        except AlreadyExists:  # another process created the Lease
            return await self._get(), False

    async def _get(self) -> Tree:
        assert self._client is not None
        try:
            return await self._client.get(LEASES, self.lease_name, namespace=self.namespace)
        except NotFound:
            raise
        except ClientError:
            self._count_failure("get")
            raise

    async def _write(self, operation: str, send: Callable[[Tree], Awaitable[Tree]], lease: Tree) -> Tree:
        """Return the Lease as stored. Raises ClientError."""
        started = self._clock.monotonic()
        try:
            self._latest = stored = await send(lease)
        except ClientError:
            self._count_failure(operation)
            raise
        self._renewed = started
        if self._metrics is not None:
            self._metrics.renewed(namespace=self.namespace, duration_seconds=self._clock.monotonic() - started)
        return stored

    async def _prepare(self, base: Tree | None) -> tuple[Tree, bool]:
        """Return a new Lease, or a copy of ``base``, with the current time; and whether ``process_lease`` succeeded."""
        lease: Tree = copy_tree(base) if base is not None else self._new_lease()
        lease.setdefault("spec", {})["renewTime"] = format_micro_time(self._clock.now())
        if self._process_lease is None:
            return lease, True
        try:
            async with Timeout(self._deadline, clock=self._clock):
                await call_hook(self._process_lease, lease)
        except Exception:  # noqa: BLE001 — errors of a hook of the user do not end the renewals
            _log.exception("process_lease failed for lease %s", self.lease_name)
            self._count_failure("process_lease")
            return lease, False
        return lease, True

    async def _report_repeated_failure(self) -> None:
        if self._on_repeated_failure is None:
            return
        try:
            async with Timeout(self._deadline, clock=self._clock):
                await call_hook(self._on_repeated_failure)
        except Exception:  # noqa: BLE001 — errors of a hook of the user do not end the renewals
            _log.exception("on_repeated_failure failed for lease %s", self.lease_name)

    def _count_failure(self, operation: str) -> None:
        if self._metrics is not None:
            self._metrics.failed(namespace=self.namespace, operation=operation)

    def _new_lease(self) -> Tree:
        """Return a Lease with the minimal fields of a heartbeat; the other fields belong to elections."""
        return {
            "apiVersion": LEASES.info.api_version,
            "kind": LEASES.info.kind,
            "metadata": {"name": self.lease_name, "namespace": self.namespace},
            "spec": {"holderIdentity": self._identity, "leaseDurationSeconds": self._duration},
        }
