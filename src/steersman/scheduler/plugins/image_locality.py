"""Nodes are liked that have the pod's images already."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.scheduler.framework import SCORE_MAX, Plugin, Scorer

if TYPE_CHECKING:
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

#: Images together smaller than this are worth nothing, larger than the other (for each container) no more.
_BYTES_MIN: Final = 23 * 1024 * 1024
_BYTES_MAX: Final = 1000 * 1024 * 1024


class ImageLocality(Plugin):
    """Sizes count by the share of nodes that have the image, lest one node draw all pods."""

    name: ClassVar[str] = "ImageLocality"

    def scorer(self, pod: PodInfo, cluster: Snapshot) -> Scorer | None:
        if not cluster.images:
            return None
        everywhere = max(1, len(cluster.nodes))
        worth = []
        for image in pod.images:
            nodes = cluster.images.get(normalized_image(image))
            if nodes:
                worth.append({node: size * len(nodes) // everywhere for node, size in nodes.items()})
        return _Images(worth, len(pod.images)) if worth else None


class _Images(Scorer):
    def __init__(self, worth: list[dict[str, int]], containers: int) -> None:
        self._worth = worth
        self._most = _BYTES_MAX * containers

    def __call__(self, node: NodeInfo) -> int:
        size = sum(sizes.get(node.name, 0) for sizes in self._worth)
        size = min(max(size, _BYTES_MIN), self._most)
        return SCORE_MAX * (size - _BYTES_MIN) // (self._most - _BYTES_MIN)


def normalized_image(name: str) -> str:
    """With the tag ``latest`` if it has none."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
