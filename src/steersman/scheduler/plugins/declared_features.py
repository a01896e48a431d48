"""Pods that need a feature of the node go where the node declares it (KEP-5328)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.scheduler.framework import LocalPlugin, Rejection

if TYPE_CHECKING:
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

_TEXT: Final = "node declared features check failed - unsatisfied requirements: "


class NodeDeclaredFeatures(LocalPlugin):
    """What a pod needs is inferred from its spec (``PodInfo.needs``)."""

    name: ClassVar[str] = "NodeDeclaredFeatures"

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        if not pod.needs:
            return None
        missing = sorted(pod.needs - node.features)
        return Rejection(self.name, (_TEXT + ", ".join(missing),), resolvable=False) if missing else None
