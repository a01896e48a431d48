"""Metrics of the allocators of cluster IPs and node ports in the Prometheus format."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.observability.metrics import counter, gauge, histogram, labelled
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apiserver.kinds.core.service.allocation import ServiceAllocator
    from steersman.apiserver.kinds.core.service.allocator_metrics import AllocatorMetrics
    from steersman.apiserver.observability.metrics import Family, Labels

_ADDRESSES: Final = "kube_apiserver_clusterip_allocator_"
_PORTS: Final = "kube_apiserver_nodeport_allocator_"


class AllocatorMetricsCollector:
    """Collector that reads what is allocated on scrape; the counters are those of ``AllocatorMetrics``."""

    def __init__(self, metrics: AllocatorMetrics, allocator: Callable[[], ServiceAllocator]) -> None:
        self._metrics: Final = metrics
        self._allocator: Final = allocator

    async def collect(self) -> Iterable[Family]:
        """Return the counters, and the gauges unless the store cannot be read."""
        families = self._counters()
        with suppress(StoreError, StatusError):
            families += await self._gauges(self._allocator())
        return families

    def _counters(self) -> list[Family]:
        metrics = self._metrics
        return [
            counter(
                f"{_ADDRESSES}allocation_total",
                "Allocations of cluster IPs, by range and scope (static or dynamic).",
                labelled(("cidr", "scope"), metrics.addresses),
            ),
            counter(
                f"{_ADDRESSES}allocation_errors_total",
                "Failed allocations of cluster IPs, by range and scope (static or dynamic).",
                labelled(("cidr", "scope"), metrics.address_errors),
            ),
            histogram(
                f"{_ADDRESSES}allocation_duration_seconds",
                "Duration of allocations of cluster IPs in seconds, by range.",
                labelled(("cidr",), metrics.address_seconds),
            ),
            counter(
                f"{_PORTS}allocation_total",
                "Allocations of node ports, by scope (static or dynamic).",
                labelled(("scope",), metrics.ports),
            ),
            counter(
                f"{_PORTS}allocation_errors_total",
                "Failed allocations of node ports, by scope (static or dynamic).",
                labelled(("scope",), metrics.port_errors),
            ),
        ]

    @staticmethod
    async def _gauges(allocator: ServiceAllocator) -> list[Family]:
        addresses = await allocator.allocated_addresses()
        used: list[tuple[Labels, float]] = []
        free: list[tuple[Labels, float]] = []
        for network in await allocator.service_ranges():
            labels = (("cidr", str(network.network)),)
            count = sum(ip in network for ip in addresses)
            used.append((labels, count))
            free.append((labels, network.size - count))
        bitmap = await allocator.allocated_ports()
        ports = sum(1 for _ in bitmap)
        return [
            gauge(f"{_ADDRESSES}allocated_ips", "Allocated cluster IPs, by range.", used),
            gauge(f"{_ADDRESSES}available_ips", "Cluster IPs that are not allocated, by range.", free),
            gauge(f"{_PORTS}allocated_ports", "Allocated node ports.", [((), ports)]),
            gauge(
                f"{_PORTS}available_ports",
                "Node ports that are not allocated.",
                [((), bitmap.ports.last - bitmap.ports.first + 1 - ports)],
            ),
        ]
