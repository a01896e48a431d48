"""Counters of the allocation of cluster IPs and node ports.

Upstream: pkg/registry/core/service/ipallocator/metrics.go, pkg/registry/core/service/portallocator/metrics.go.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import count, observe

if TYPE_CHECKING:
    from steersman.apimachinery.histogram import Histogram
    from steersman.apiserver.kinds.shared.allocation import AddressRange, PortTally

#: Values that clients request, and values that the server selects.
STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
#: Seconds. Upstream: ``DefBuckets``.
_BOUNDS: Final[tuple[float, ...]] = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class AllocatorMetrics:
    """Counters of one allocator."""

    def __init__(self) -> None:
        #: By range and scope.
        self.addresses: Final[Counter[tuple[str, str]]] = Counter()
        self.address_errors: Final[Counter[tuple[str, str]]] = Counter()
        #: Duration of allocations in seconds, by range.
        self.address_seconds: Final[dict[tuple[str], Histogram]] = {}
        #: By scope.
        self.ports: Final[Counter[tuple[str]]] = Counter()
        self.port_errors: Final[Counter[tuple[str]]] = Counter()

    def address_allocated(self, addresses: AddressRange, scope: str, seconds: float) -> None:
        """Count the allocation of an address."""
        cidr = str(addresses.network)
        count(self.addresses, (cidr, scope))
        observe(self.address_seconds, (cidr,), seconds, _BOUNDS)

    def address_failed(self, addresses: AddressRange, scope: str) -> None:
        """Count an address that could not be allocated."""
        count(self.address_errors, (str(addresses.network), scope))

    def count_ports(self, tally: PortTally) -> None:
        """Count the ports of one write."""
        for scope, allocated, errors in (
            (STATIC, tally.static, tally.static_errors),
            (DYNAMIC, tally.dynamic, tally.dynamic_errors),
        ):
            if allocated:
                self.ports[(scope,)] += allocated
            if errors:
                self.port_errors[(scope,)] += errors
