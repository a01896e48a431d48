"""API versions, besides the storage version, that a stored object may have: another API server may have written it.

They are the versions that are served, and older ones with the same fields in JSON and in protobuf, which Kubernetes 1.36 still
decodes (it registers every version of ``k8s.io/api``, served or not). Versions whose fields differ are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.generic.entry import Layout
from steersman.apiserver.generic.storage_codec import StorageCodec
from steersman.apiserver.kinds.conversion import conversions_for
from steersman.schema.resources import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apiserver.kinds.conversion import Conversion
    from steersman.schema.resources import Resource

#: Older versions of a storage version → kinds that have the same fields there.
_SAME_FIELDS: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "apps/v1": {
        "apps/v1beta2": frozenset({"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})
    },
    "batch/v1": {"batch/v1beta1": frozenset({"CronJob"})},
    "coordination.k8s.io/v1": {"coordination.k8s.io/v1beta1": frozenset({"Lease"})},
    "networking.k8s.io/v1": {"networking.k8s.io/v1beta1": frozenset({"IngressClass", "IPAddress", "ServiceCIDR"})},
    "node.k8s.io/v1": {"node.k8s.io/v1beta1": frozenset({"RuntimeClass"})},
    "policy/v1": {"policy/v1beta1": frozenset({"PodDisruptionBudget"})},
    "rbac.authorization.k8s.io/v1": {
        "rbac.authorization.k8s.io/v1beta1": frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
    },
    "resource.k8s.io/v1": {
        "resource.k8s.io/v1beta2": frozenset({"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"})
    },
    "scheduling.k8s.io/v1": {"scheduling.k8s.io/v1beta1": frozenset({"PriorityClass"})},
    "storage.k8s.io/v1": {
        "storage.k8s.io/v1beta1": frozenset(
            {
                "CSIDriver",
                "CSINode",
                "CSIStorageCapacity",
                "StorageClass",
                "VolumeAttachment",
                "VolumeAttributesClass",
            }
        )
    },
}


def readable_versions(resource: Resource) -> dict[str, Conversion | None]:
    """Return apiVersion → conversion to the storage version of ``resource``; None where the fields are the same."""
    readable: dict[str, Conversion | None] = {
        other.api_version: conversions_for(other)[0]
        for other in table().resources
        if other.key_prefix == resource.key_prefix and other.api_version != resource.storage_api_version
    }
    for api_version, kinds in _SAME_FIELDS.get(resource.storage_api_version, {}).items():
        if resource.kind in kinds:
            readable[api_version] = None
    return readable


def stored_layout(group_resource: str, media_type: str) -> Layout:
    """Return the layout of a built-in resource that is read or written beside its own object store, without defaults.

    Raises KeyError.
    """
    for resource in table().resources:
        if resource.group_resource == group_resource and resource.api_version == resource.storage_api_version:
            codec = StorageCodec(
                resource.kind,
                resource.api_version,
                stored_version=resource.stored_api_version,
                media_type=media_type,
                conversions=readable_versions(resource),
            )
            return Layout(resource.kind, resource.api_version, codec)
    raise KeyError(group_resource)
