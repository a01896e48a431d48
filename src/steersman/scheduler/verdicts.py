"""What the local rules said of each node, remembered for pods that are alike.

A workload's pods differ in nothing that a node is judged by, and a binding changes one node. So of a thousand nodes one is
judged anew for the next pod, as upstream's batching of like pods (KEP-5598) has it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.scheduler.framework import LocalPlugin, Rejection
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

#: Kinds of pods remembered; of more, the one not met for longest is forgotten.
_SIGNATURES_MAX: Final = 64


class Verdict(NamedTuple):
    """Holds while the node's generation is this."""

    generation: int
    rejection: Rejection | None
    #: Of a node that will do: what each scoring plugin likes of it.
    raw: tuple[int, ...]


class Verdicts:
    """By signature and node."""

    def __init__(self, filters: Sequence[LocalPlugin], scorers: Sequence[LocalPlugin]) -> None:
        self._filters: Final = tuple(plugin.filter for plugin in filters)
        self._raws: Final = tuple(plugin.raw for plugin in scorers)
        self._known: OrderedDict[bytes, dict[str, Verdict]] = OrderedDict()

    def forget(self) -> None:
        """What the rules look at besides pods and nodes has changed."""
        self._known.clear()

    def of(self, pod: PodInfo) -> dict[str, Verdict]:
        """The table of pods like this one, for ``judge``."""
        table = self._known.get(pod.signature)
        if table is None:
            table = self._known[pod.signature] = {}
            if len(self._known) > _SIGNATURES_MAX:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(pod.signature)
        return table

    def judge(self, pod: PodInfo, node: NodeInfo, table: dict[str, Verdict]) -> Verdict:
        """What the rules say now."""
        known = table.get(node.name)
        if known is not None and known.generation == node.generation:
            return known
        rejection = self.filter(pod, node)
        raw = () if rejection is not None else tuple(liking(pod, node) for liking in self._raws)
        verdict = table[node.name] = Verdict(node.generation, rejection, raw)
        return verdict

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        """The first objection."""
        for rule in self._filters:
            rejection = rule(pod, node)
            if rejection is not None:
                return rejection
        return None
