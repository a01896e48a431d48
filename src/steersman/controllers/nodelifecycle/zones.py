"""Eviction rates of zones by the number of unhealthy Nodes.

A zone where most Nodes are unhealthy at once is probably partitioned: evictions there are slowed down or stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from steersman.client.objects import labels_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightkube.models.core_v1 import Node

#: Minimum number of unhealthy Nodes of a partially disrupted zone.
_PARTIAL_MIN: Final = 3
_EXCLUDED: Final = "node.kubernetes.io/exclude-disruption"
_REGIONS: Final = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_ZONES: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


class ZoneState(Enum):
    """Zone states, with upstream's names."""

    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


@dataclass(frozen=True, slots=True)
class Rates:
    """Options of the eviction rates, in Nodes per second."""

    normal: float = 0.1
    secondary: float = 0.01
    unhealthy_share: float = 0.55
    large_size: int = 50

    def of(self, state: ZoneState, size: int) -> float:
        """Return the eviction rate for a zone state in Nodes per second; 0 for no evictions."""
        if state is ZoneState.PARTIAL:
            return self.secondary if size > self.large_size else 0.0
        return self.normal


@dataclass(slots=True)
class Count:
    """Numbers of Nodes of one zone."""

    ready: int = 0
    unready: int = 0

    @property
    def size(self) -> int:
        """Return the number of Nodes."""
        return self.ready + self.unready

    def state(self, rates: Rates) -> ZoneState:
        """Return the state of the zone."""
        if not self.ready and self.unready:
            return ZoneState.FULL
        if self.unready >= _PARTIAL_MIN and self.unready / self.size >= rates.unhealthy_share:
            return ZoneState.PARTIAL
        return ZoneState.NORMAL


def zone_of(node: Node) -> str:
    """Return region and zone as one key; empty if neither is set."""
    labels = labels_of(node)
    region = next((labels[key] for key in _REGIONS if labels.get(key)), "")
    zone = next((labels[key] for key in _ZONES if labels.get(key)), "")
    return f"{region}:\0:{zone}" if region or zone else ""


def is_counted(node: Node) -> bool:
    """Report whether the Node's readiness counts for its zone."""
    return _EXCLUDED not in labels_of(node)


class Zones:
    """Counts of Nodes by zone. Confined to one event loop."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self._nodes: dict[str, tuple[str, bool]] = {}
        self._counts: dict[str, Count] = {}

    def put(self, name: str, zone: str, *, ready: bool) -> bool:
        """Record a Node's readiness; return whether it changed."""
        if self._nodes.get(name) == (zone, ready):
            return False
        self.remove(name)
        self._nodes[name] = (zone, ready)
        self._add(zone, ready=ready, by=1)
        return True

    def remove(self, name: str) -> bool:
        """Remove a Node; return whether it was counted."""
        node = self._nodes.pop(name, None)
        if node is None:
            return False
        zone, ready = node
        self._add(zone, ready=ready, by=-1)
        return True

    def _add(self, zone: str, *, ready: bool, by: int) -> None:
        count = self._counts.setdefault(zone, Count())
        if ready:
            count.ready += by
        else:
            count.unready += by
        if not count.size:
            del self._counts[zone]

    @property
    def counts(self) -> Mapping[str, Count]:
        """Return the counts by zone."""
        return self._counts

    def all_down(self) -> bool:
        """Report whether all Nodes are unhealthy: then this process is probably partitioned."""
        return bool(self._counts) and all(count.state(self._rates) is ZoneState.FULL for count in self._counts.values())

    def rate(self, zone: str) -> float:
        """Return the current eviction rate of the zone in Nodes per second."""
        if self.all_down():
            return 0.0
        count = self._counts.get(zone, Count())
        return self._rates.of(count.state(self._rates), count.size)
