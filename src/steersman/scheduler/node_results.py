"""Cache of local plugins' results, by pod signature and node.

Pods of one workload usually share a signature, and a binding changes one node; so for the next pod most results are
still valid. Upstream: opportunistic batching (KEP-5598).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.scheduler.framework import LocalPlugin, Rejection
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

#: Bound on cached signatures; the least recently used one is dropped.
_SIGNATURES_MAX: Final = 64


class NodeResult(NamedTuple):
    """Results for one pod signature and node, valid for this generation of the node."""

    generation: int
    rejection: Rejection | None
    #: Raw scores of the score plugins; empty if the node was rejected.
    scores: tuple[int, ...]


class NodeResultCache:
    """Results of local filter and score plugins by signature and node."""

    def __init__(self, filters: Sequence[LocalPlugin], scorers: Sequence[LocalPlugin]) -> None:
        self._filters: Final = tuple(plugin.filter for plugin in filters)
        self._scorers: Final = tuple(plugin.score for plugin in scorers)
        self._tables: OrderedDict[bytes, dict[str, NodeResult]] = OrderedDict()

    def clear(self) -> None:
        """Clear the cache after a change of other inputs of the plugins than pods and nodes."""
        self._tables.clear()

    def results_for(self, pod: PodInfo) -> dict[str, NodeResult]:
        """Return the results by node for pods with this pod's signature, for ``evaluate``."""
        results = self._tables.get(pod.signature)
        if results is None:
            results = self._tables[pod.signature] = {}
            if len(self._tables) > _SIGNATURES_MAX:
                self._tables.popitem(last=False)
        else:
            self._tables.move_to_end(pod.signature)
        return results

    def evaluate(self, pod: PodInfo, node: NodeInfo, results: dict[str, NodeResult]) -> NodeResult:
        """Return the results for a node, from ``results`` if they are valid."""
        cached = results.get(node.name)
        if cached is not None and cached.generation == node.generation:
            return cached
        rejection = self.filter(pod, node)
        scores = () if rejection is not None else tuple(score(pod, node) for score in self._scorers)
        result = results[node.name] = NodeResult(node.generation, rejection, scores)
        return result

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        """Run the filter plugins without the cache; return the first rejection."""
        for local_filter in self._filters:
            rejection = local_filter(pod, node)
            if rejection is not None:
                return rejection
        return None
