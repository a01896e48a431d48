"""The FitError and its message, as in ``PodScheduled`` conditions and ``FailedScheduling`` events."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.scheduler.framework import Rejection

NO_NODES: Final = "no nodes available to schedule pods"


class FitError(Exception):
    """No node is feasible for a pod."""

    def __init__(
        self,
        nodes: int,
        rejections: dict[str, Rejection],
        blocked: str = "",
        *,
        by: str = "",
        silent: frozenset[str] = frozenset(),
    ) -> None:
        """``silent``: plugins that rejected nodes without a reason."""
        super().__init__(blocked)
        #: Number of nodes in the cluster.
        self.nodes: Final = nodes
        #: Rejections by node, of the nodes that were evaluated.
        self.rejections: Final = rejections
        #: Reason of the PreFilter plugin that rejected all nodes, and its name.
        self.blocked: Final = blocked
        self.blocked_by: Final = by
        self._silent: Final = silent

    @property
    def plugins(self) -> frozenset[str]:
        """The plugins that rejected the pod (upstream: ``UnschedulablePlugins``)."""
        if self.blocked_by:
            return frozenset({self.blocked_by})
        return self._silent.union(rejection.plugin for rejection in self.rejections.values())

    def message(self, afterwards: str = "") -> str:
        """Return upstream's message; ``afterwards`` is the message of the PostFilter plugins."""
        if not self.nodes:
            return NO_NODES
        reasons = self.blocked or counted(
            reason for rejection in self.rejections.values() for reason in rejection.reasons
        )
        text = f"0/{self.nodes} nodes are available"
        text += f": {reasons}." if reasons else "."
        return f"{text} {afterwards}" if afterwards else text


def counted(reasons: Iterable[str]) -> str:
    """Return ``2 Insufficient cpu, 1 Too many pods``: reasons with their counts, sorted as text."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in Counter(reasons).items()))
