"""A component's heartbeat: a Lease of its own that it renews for as long as it lives.

As ``k8s.io/component-helpers``' lease controller, which kubelets and API servers use: cheap (no read before a write, for
nobody else writes this lease), and patient (it keeps trying for ever).
"""

from __future__ import annotations

import logging
from random import Random
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import is_conflict, is_not_found
from steersman.apimachinery.timestamps import format_micro_time
from steersman.apimachinery.trees import copy_tree
from steersman.asynckit.clock import RealClock
from steersman.client.errors import ClientError
from steersman.client.leaderelection.lock import LEASES
from steersman.runtime.periodic import run_every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.asynckit.clock import Clock
    from steersman.client import Client

Tree = dict[str, Any]

_log = logging.getLogger(__name__)

#: Tries to renew, one right after the other, before it waits for the next interval.
UPDATE_TRIES_MAX: Final = 5
#: The wait between tries to make sure that the lease is there: doubled before each wait, up to the maximum.
_BACKOFF_SECONDS: Final = 0.1
_BACKOFF_SECONDS_MAX: Final = 7.0
#: The interval is made longer by up to so much of it, so that components do not all come at once.
JITTER: Final = 0.04


class LeaseHeartbeat:
    """One for each holder; ``run`` it as a task."""

    def __init__(
        self,
        client: Client | None,
        *,
        holder_identity: str,
        lease_duration_seconds: int,
        renew_interval_seconds: float,
        namespace: str,
        lease_name: str = "",
        on_repeated_failure: Callable[[], None] | None = None,
        post_process: Callable[[Tree], Awaitable[None]] | None = None,
        clock: Clock | None = None,
        dice: Random | None = None,
    ) -> None:
        """``lease_name`` is the holder's identity if not given.

        ``on_repeated_failure`` is called at each failed try to renew from the second one in a row on (the kubelet closes
        its connections then). ``post_process`` changes the lease before it is written (an owner reference, say); when it
        raises, a lease is not created and tried again at the next interval, but one that exists is renewed all the same.
        """
        self._client = client
        self._identity = holder_identity
        self._duration = lease_duration_seconds
        self._interval = renew_interval_seconds
        self._namespace = namespace
        self._name = lease_name or holder_identity
        self._on_repeated_failure = on_repeated_failure
        self._post_process = post_process
        self._clock = clock or (client.clock if client is not None else RealClock())
        self._dice = dice or Random()  # noqa: S311 — jitter
        #: As it was written last; the next renewal is based on it.
        self._latest: Tree | None = None

    async def run(self) -> None:
        """Renew now, and again an interval after that is done, until cancelled. Without a client there is nothing to do."""
        if self._client is None:
            _log.info("lease heartbeat of %s has no client, will not claim or renew leases", self._identity)
            return
        await run_every(self._interval, self.beat, jitter=JITTER, clock=self._clock, dice=self._dice, log=_log)

    async def beat(self) -> None:
        """One renewal, come what may: without reading if the lease is known, else after making sure that it is there."""
        if self._latest is not None:
            if await self._renew(self._latest):
                return
            _log.info("lease %s could not be renewed as it was last written, making sure that it is there", self._name)
        lease, created = await self._ensure()
        self._latest = lease
        if lease is not None and not created and not await self._renew(lease):
            _log.error("failed %d attempts to update lease %s, again later", UPDATE_TRIES_MAX, self._name)

    async def _renew(self, base: Tree) -> bool:
        """Whether one of the tries worked."""
        assert self._client is not None
        for attempt in range(UPDATE_TRIES_MAX):
            renewed, _ = await self._stamped(base)
            try:
                self._latest = await self._client.update(renewed)
            except ClientError as error:
                _log.warning("failed to update lease %s: %s", self._name, error)
                if is_conflict(error):
                    newer, created = await self._ensure()
                    if newer is None:
                        return False
                    if created:  # with the time of now: it needs no second write
                        self._latest = newer
                        return True
                    base = newer
                elif attempt > 0 and self._on_repeated_failure is not None:
                    self._on_repeated_failure()
            else:
                return True
        return False

    async def _ensure(self) -> tuple[Tree | None, bool]:
        """The lease as it is, and whether it was created here; waits for as long as the server does not say.

        None: it is not there, and what is to be done before creating it failed.
        """
        seconds = _BACKOFF_SECONDS
        while True:
            try:
                return await self._get_or_create()
            except ClientError as error:
                seconds = min(2 * seconds, _BACKOFF_SECONDS_MAX)
                _log.warning("failed to ensure lease %s exists, again in %.1f s: %s", self._name, seconds, error)
                await self._clock.sleep(seconds)

    async def _get_or_create(self) -> tuple[Tree | None, bool]:
        assert self._client is not None
        try:
            return await self._client.get(LEASES, self._name, namespace=self._namespace), False
        except ClientError as error:
            if not is_not_found(error):
                raise
        lease, complete = await self._stamped(None)
        if not complete:
            return None, False
        return await self._client.create(lease), True

    async def _stamped(self, base: Tree | None) -> tuple[Tree, bool]:
        """A new lease, or a copy of one, renewed now; and whether ``post_process`` had nothing against it."""
        lease: Tree = copy_tree(base) if base is not None else self._new_lease()
        lease.setdefault("spec", {})["renewTime"] = format_micro_time(self._clock.now())
        if self._post_process is None:
            return lease, True
        try:
            await self._post_process(lease)
        except Exception:  # noqa: BLE001 — whatever the hook raises, a renewal goes on
            _log.exception("lease %s could not be completed", self._name)
            return lease, False
        return lease, True

    def _new_lease(self) -> Tree:
        """The bare minimum; the other fields are for elections."""
        return {
            "apiVersion": LEASES.info.api_version,
            "kind": LEASES.info.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {"holderIdentity": self._identity, "leaseDurationSeconds": self._duration},
        }
