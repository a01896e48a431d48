"""ImageLocality: prefers nodes that already have the pod's images."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.scheduler.framework import SCORE_MAX, Plugin, PodScorer

if TYPE_CHECKING:
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

#: Total image size for score 0, and per container for score 100.
_BYTES_MIN: Final = 23 * 1024 * 1024
_BYTES_MAX: Final = 1000 * 1024 * 1024


class ImageLocality(Plugin):
    """Image sizes are scaled by the share of nodes that have the image, to avoid hot spots.

    Images of volumes add to the size, but do not raise the size for the highest score.
    Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go.
    """

    name: ClassVar[str] = "ImageLocality"

    def pre_score(self, pod: PodInfo, cluster: Snapshot) -> PodScorer | None:
        if not cluster.images:
            return None
        node_count = max(1, len(cluster.nodes))
        scaled_sizes = []
        for image in (*pod.images, *pod.volume_images):
            nodes = cluster.images.get(normalized_image(image))
            if nodes:
                scaled_sizes.append({node: size * len(nodes) // node_count for node, size in nodes.items()})
        return _ImageScorer(scaled_sizes, len(pod.images)) if scaled_sizes else None


class _ImageScorer(PodScorer):
    def __init__(self, scaled_sizes: list[dict[str, int]], containers: int) -> None:
        self._scaled_sizes = scaled_sizes
        self._most = _BYTES_MAX * containers

    def __call__(self, node: NodeInfo) -> int:
        size = sum(sizes.get(node.name, 0) for sizes in self._scaled_sizes)
        size = min(max(size, _BYTES_MIN), self._most)
        return SCORE_MAX * (size - _BYTES_MIN) // (self._most - _BYTES_MIN)


def normalized_image(name: str) -> str:
    """Return the image name with the tag ``latest`` if it has none."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
