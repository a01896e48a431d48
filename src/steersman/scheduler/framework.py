"""The scheduling framework: interfaces of filter and score plugins.

A plugin that depends on the pod and one node only is a ``LocalPlugin``; its results are cached per pod signature until
the node changes. Any other plugin prepares, once per pod and scheduling cycle, a ``PodFilter`` (upstream's PreFilter)
or a ``PodScorer`` (PreScore), or None to skip the pod.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

#: Nominated pods by UID, by node.
Nominations = dict[str, dict[str, "PodInfo"]]

SCORE_MAX: Final = 100
#: Stands for all extenders among the plugins that rejected a pod. Upstream: ``ExtenderName``.
EXTENDER: Final = "Extender"


class Rejection(NamedTuple):
    """Why a node is not feasible for a pod (upstream: ``Status`` Unschedulable)."""

    plugin: str
    reasons: tuple[str, ...]
    #: False: UnschedulableAndUnresolvable, preemption cannot help.
    resolvable: bool = True


class Victims(NamedTuple):
    """Pods to evict from one node."""

    node: str
    #: Most important first.
    pods: tuple[PodInfo, ...]
    #: Number of PodDisruptionBudget violations.
    violations: int


class PreFilterRejection(Exception):  # noqa: N818 — a result, not an error
    """A PreFilter plugin found the pod unschedulable on every node (by default UnschedulableAndUnresolvable)."""

    def __init__(self, plugin: str, reason: str, *, resolvable: bool = False) -> None:
        super().__init__(reason)
        self.plugin = plugin
        self.reason = reason
        self.resolvable = resolvable


class PluginRejection(Exception):  # noqa: N818 — a result, not an error
    """A Reserve, Permit, PreBind or Bind plugin found the pod unschedulable on its selected node."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(", ".join(rejection.reasons))
        self.rejection = rejection


class PluginError(Exception):
    """A plugin failed on invalid input (upstream: status code ``Error``); the pod is retried after its backoff."""


class ExtenderError(PluginError):
    """An extender that is not ignorable did not respond, or reported an error."""


class Extenders(Protocol):
    """Scheduler extenders as the scheduling cycle calls them. Their calls suspend the cycle; the cluster may change
    meanwhile.
    """

    @property
    def has_filters(self) -> bool:
        """True if an extender filters nodes."""

    @property
    def has_prioritizers(self) -> bool:
        """True if an extender scores nodes."""

    async def filter(
        self, pod: PodInfo, nodes: Sequence[NodeInfo], rejections: dict[str, Rejection]
    ) -> Sequence[NodeInfo]:
        """Return the nodes that pass all extenders; adds the reported rejections. Raises ``ExtenderError``."""

    async def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> dict[str, int]:
        """Return weighted scores by node, on the scale of the plugins' scores."""

    async def process_preemption(
        self, pod: PodInfo, candidates: Sequence[Victims], cluster: Snapshot
    ) -> Sequence[Victims]:
        """Return the candidates that the extenders accept, with their victims. Raises ``ExtenderError``."""


class PodFilter(ABC):
    """A filter plugin prepared for one pod."""

    @abstractmethod
    def __call__(self, node: NodeInfo) -> Rejection | None:
        """Return why the pod does not fit on the node, or None."""

    def with_pod(self, pod: PodInfo, node: NodeInfo, sign: int) -> PodFilter:
        """Return this filter with another pod added to a node (``sign`` 1) or removed from it (-1), to simulate
        preemption.

        Upstream: ``PreFilterExtensions.AddPod`` and ``RemovePod``.
        """
        return self


class PodScorer(ABC):
    """A score plugin prepared for one pod."""

    @abstractmethod
    def __call__(self, node: NodeInfo) -> float:
        """Return the raw score of a node, in the unit that ``normalize_scores`` expects."""

    def normalize_scores(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        """Return scores from 0 to 100 (``NormalizeScore``); by default ``raw`` already is."""
        return [int(value) for value in raw]


class Plugin:
    """A filter or score plugin that depends on more than one node; ``name`` is upstream's."""

    name: ClassVar[str]

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> PodFilter | None:
        """Return the filter for this pod, None to skip it. Raises ``PreFilterRejection``."""
        return None

    def pre_score(self, pod: PodInfo, cluster: Snapshot) -> PodScorer | None:
        """Return the scorer for this pod, None to skip it."""
        return None


class LocalPlugin:
    """A plugin that depends on the pod and one node only."""

    name: ClassVar[str]

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        """Return why the pod does not fit on the node, or None."""
        return None

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        """Return the raw score of the node."""
        return 0

    def normalize_scores(self, raw: Sequence[int]) -> list[int]:
        """Return scores from 0 to 100 (``NormalizeScore``)."""
        return list(raw)


def default_normalize_score(raw: Sequence[float], *, reverse: bool = False) -> list[int]:
    """Scale ``raw`` to 0-100 relative to its maximum; ``reverse`` inverts the order. Upstream:
    ``DefaultNormalizeScore``.
    """
    highest = max(raw, default=0)
    if highest <= 0:
        return [SCORE_MAX if reverse else 0] * len(raw)
    shares = [int(SCORE_MAX * value / highest) for value in raw]
    return [SCORE_MAX - share for share in shares] if reverse else shares
