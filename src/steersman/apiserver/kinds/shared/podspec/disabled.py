"""Fields of pods whose features are off in Kubernetes 1.36: what clients write there is dropped.

The gates, off by default: ``ClusterTrustBundleProjection``, ``PodCertificateRequest``, ``ContainerStopSignals`` and
``GenericWorkload`` of specs, ``DRANodeAllocatableResources`` and ``ImageVolumeWithDigest`` of statuses (upstream's
``DropDisabledPodFields``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_PROJECTIONS: Final = ("clusterTrustBundle", "podCertificate")
_CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUS_LISTS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def drop_disabled(spec: Tree) -> None:
    """Drop them from a spec. A source of a projected volume may be left empty, which clients are warned of."""
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
    """Drop them from a status."""
    status.pop("nodeAllocatableResourceClaimStatuses", None)
    for containers in _STATUS_LISTS:
        for container in status.get(containers) or ():
            for mount in container.get("volumeMounts") or ():
                mount.pop("volumeStatus", None)
