"""Controller of the Service ``kubernetes`` and its endpoints, and the loops around endpoint leases."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, ClassVar, Final

from steersman.client.workqueue import ItemExponentialFailureRateLimiter
from steersman.controlplane.bootstrap.endpoint_reconcilers import ENDPOINTS, SLICES
from steersman.controlplane.bootstrap.kubernetes_service import NAME, NAMESPACE
from steersman.controlplane.bootstrap.service_writes import SERVICES, correct_service
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from ipaddress import IPv4Network, IPv6Network

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.bootstrap.endpoint_reconcilers import EndpointReconciler
    from steersman.controlplane.bootstrap.kubernetes_service import DesiredService
    from steersman.controlplane.bootstrap.master_leases import MasterLeases
    from steersman.runtime.context import ControllerContext

_log: Final = logging.getLogger(__name__)

#: Interval of renewals and checks without changes (``DefaultEndpointReconcilerInterval``).
INTERVAL_SECONDS: Final = 10.0

_KEY: Final = f"{NAMESPACE}/{NAME}"
_RETRY_SECONDS: Final = 1.0
_FIRST_RETRY_SECONDS: Final = 0.05


class KubernetesServiceController(Controller):
    """Controller of the Service, Endpoints and EndpointSlice ``kubernetes``.

    It runs once the server is ready, as clients use the address at once.
    """

    name: ClassVar[str] = "kubernetes-service"
    reconcile_timeout_seconds: ClassVar[float | None] = 30.0

    def __init__(
        self,
        context: ControllerContext,
        *,
        desired: Callable[[], DesiredService],
        ranges: Sequence[IPv4Network | IPv6Network],
        reconciler: Callable[[], EndpointReconciler],
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        """``desired`` and ``reconciler`` are called for each reconcile, as the server's port may change."""
        backoff = ItemExponentialFailureRateLimiter(
            base_delay_seconds=_FIRST_RETRY_SECONDS, max_delay_seconds=INTERVAL_SECONDS
        )
        super().__init__(context, rate_limiter=backoff)
        self._desired = desired
        self._ranges = ranges
        self._reconciler = reconciler
        self._interval_seconds = interval_seconds
        for resource_type in (SERVICES, ENDPOINTS, SLICES):
            self.watch(
                resource_type, keys=lambda _: (_KEY,), namespace=NAMESPACE, field_selector=f"metadata.name={NAME}"
            )

    async def start(self) -> None:
        """Enqueue the Service once at start."""
        self.enqueue_service()

    def enqueue_service(self) -> None:
        """Enqueue the Service: a server started or stopped."""
        self.queue.add(_KEY)

    async def reconcile(self, key: str) -> Result | None:
        """Write the Service first, as its endpoints depend on it."""
        await correct_service(self.client, self._desired(), ranges=self._ranges, at_start=False)
        await self._reconciler().reconcile(correct_ports=False)
        return Result(requeue_after_seconds=self._interval_seconds)


async def keep_lease(
    leases: MasterLeases, address: str, *, clock: Clock, interval_seconds: float = INTERVAL_SECONDS
) -> None:
    """Renew the address's lease, until cancelled: also while the API cannot be written to."""
    while True:
        try:
            await leases.hold(address)
            wait = interval_seconds
        except StoreError as error:
            _log.warning("cannot renew the lease of %s: %s", address, error)
            wait = _RETRY_SECONDS
        await clock.sleep(wait)


async def follow_leases(leases: MasterLeases, controller: KubernetesServiceController, *, clock: Clock) -> None:
    """Enqueue the endpoints when a server's lease appears or expires, until cancelled."""
    while True:
        lost: asyncio.Queue[StoreError] = asyncio.Queue()  # at most one event
        try:
            subscription = await leases.watch(controller.enqueue_service, lost=lost.put_nowait)
            try:
                raise await lost.get()
            finally:
                subscription.close()
        except StoreError as error:
            _log.warning("cannot follow the servers' leases: %s", error)
        controller.enqueue_service()
        await clock.sleep(_RETRY_SECONDS)
