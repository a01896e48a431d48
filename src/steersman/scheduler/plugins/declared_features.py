"""NodeDeclaredFeatures: pods that require node features fit only on nodes that declare them (KEP-5328)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.scheduler.framework import LocalPlugin, Rejection

if TYPE_CHECKING:
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

_TEXT: Final = "node declared features check failed - unsatisfied requirements: "


class NodeDeclaredFeatures(LocalPlugin):
    """Filters by ``PodInfo.needs``, which is inferred from the spec."""

    name: ClassVar[str] = "NodeDeclaredFeatures"

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        if not pod.required_features:
            return None
        missing = sorted(pod.required_features - node.features)
        return Rejection(self.name, (_TEXT + ", ".join(missing),), resolvable=False) if missing else None
