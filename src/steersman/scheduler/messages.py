"""Why a pod found no node, in the words of ``PodScheduled`` conditions and ``FailedScheduling`` events."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.scheduler.framework import Rejection

NO_NODES: Final = "no nodes available to schedule pods"


class FitError(Exception):
    """No node will do for a pod."""

    def __init__(self, nodes: int, rejections: dict[str, Rejection], blocked: str = "", *, by: str = "") -> None:
        super().__init__(blocked)
        #: How many nodes there are.
        self.nodes: Final = nodes
        #: Why each node that was looked at is none.
        self.rejections: Final = rejections
        #: Why none need be looked at, and the plugin that says so.
        self.blocked: Final = blocked
        self.blocked_by: Final = by

    @property
    def plugins(self) -> frozenset[str]:
        """The rules that stood in the way: what they look at may have to change."""
        if self.blocked_by:
            return frozenset({self.blocked_by})
        return frozenset(rejection.plugin for rejection in self.rejections.values())

    def message(self, afterwards: str = "") -> str:
        """In upstream's words; ``afterwards`` is what preemption has to say."""
        if not self.nodes:
            return NO_NODES
        reasons = self.blocked or counted(reason for each in self.rejections.values() for reason in each.reasons)
        text = f"0/{self.nodes} nodes are available"
        text += f": {reasons}." if reasons else "."
        return f"{text} {afterwards}" if afterwards else text


def counted(reasons: Iterable[str]) -> str:
    """``2 Insufficient cpu, 1 Too many pods``, sorted as text."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in Counter(reasons).items()))
