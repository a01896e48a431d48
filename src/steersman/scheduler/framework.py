"""How a rule takes part: it may keep a pod from nodes, and say which of those left it likes better.

A rule that looks at nothing but the pod and the node itself is a ``LocalPlugin``: what it says is remembered for all pods
of the same signature until the node changes. Any other prepares a ``Check`` or a ``Scorer`` for one pod, once per
attempt (PreFilter and PreScore upstream), or None when it does not care about the pod.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

SCORE_MAX: Final = 100


class Rejection(NamedTuple):
    """Why a node is none for a pod."""

    plugin: str
    reasons: tuple[str, ...]
    #: Whether it might become one if pods left it; otherwise preemption is of no use.
    resolvable: bool = True


class Blocked(Exception):  # noqa: N818 — a verdict, not a fault
    """No node will do, whichever; said before any is looked at."""

    def __init__(self, plugin: str, reason: str) -> None:
        super().__init__(reason)
        self.plugin = plugin
        self.reason = reason


class Fault(Exception):  # noqa: N818 — a verdict on what was asked for
    """A rule cannot be applied, because what it is to be applied to is broken: the pod is tried again by itself."""


class Check(ABC):
    """A rule made ready for one pod."""

    @abstractmethod
    def __call__(self, node: NodeInfo) -> Rejection | None:
        """Why the pod may not go to the node; None when it may."""

    def moved(self, pod: PodInfo, node: NodeInfo, sign: int) -> Check:
        """The same check as if another pod had come to a node (1) or left it (-1): to try preemptions."""
        return self


class Scorer(ABC):
    """A liking made ready for one pod."""

    @abstractmethod
    def __call__(self, node: NodeInfo) -> float:
        """The more the better, or the less, as ``normalized`` takes it."""

    def normalized(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        """From 0 to 100 for each node. By default ``raw`` is that already."""
        return [int(value) for value in raw]


class Plugin:
    """A rule of a profile. ``name`` is upstream's."""

    name: ClassVar[str]

    def check(self, pod: PodInfo, cluster: Snapshot) -> Check | None:
        """The rule for this pod. Raises ``Blocked``."""
        return None

    def scorer(self, pod: PodInfo, cluster: Snapshot) -> Scorer | None:
        """The liking for this pod."""
        return None


class LocalPlugin:
    """A rule that looks at one node only."""

    name: ClassVar[str]

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        """Why the pod may not go to the node; None when it may."""
        return None

    #: Whether ``raw`` is to be asked.
    scores: ClassVar[bool] = False

    def raw(self, pod: PodInfo, node: NodeInfo) -> int:
        """The liking of one node by itself."""
        return 0

    def normalized(self, raw: Sequence[int]) -> list[int]:
        """From 0 to 100 for each node."""
        return list(raw)


def scaled(raw: Sequence[float], *, reverse: bool = False) -> list[int]:
    """Shares of the highest in hundredths, or what is missing to it (``DefaultNormalizeScore``)."""
    highest = max(raw, default=0)
    if highest <= 0:
        return [SCORE_MAX if reverse else 0] * len(raw)
    shares = [int(SCORE_MAX * value / highest) for value in raw]
    return [SCORE_MAX - share for share in shares] if reverse else shares
