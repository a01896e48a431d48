"""Fields of Pods whose feature gates are off in Kubernetes 1.36, and are dropped. Upstream: ``DropDisabledPodFields``.

Gates: ``ClusterTrustBundleProjection``, ``PodCertificateRequest``, ``ContainerStopSignals`` and ``GenericWorkload`` of
specs, ``DRANodeAllocatableResources`` and ``ImageVolumeWithDigest`` of statuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_PROJECTIONS: Final = ("clusterTrustBundle", "podCertificate")
_CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUS_LISTS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def drop_disabled(spec: Tree) -> None:
    """Drop disabled fields of a spec. A projected source may become empty, which yields a warning."""
    spec.pop("schedulingGroup", None)
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            for name in _PROJECTIONS:
                source.pop(name, None)
    for containers in _CONTAINER_LISTS:
        for container in spec.get(containers) or ():
            lifecycle = container.get("lifecycle")
            if lifecycle is not None and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
                del container["lifecycle"]


def drop_disabled_status(status: Tree) -> None:
    """Drop disabled fields of a status."""
    status.pop("nodeAllocatableResourceClaimStatuses", None)
    for containers in _STATUS_LISTS:
        for container in status.get(containers) or ():
            for mount in container.get("volumeMounts") or ():
                mount.pop("volumeStatus", None)
