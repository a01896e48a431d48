"""Strategy lookup of the built-in kinds. Their modules are imported when the first request for a kind arrives."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apiserver.generic.strategy import Strategy
    from steersman.schema.resources import Resource

_PACKAGE: Final = "steersman.apiserver.kinds."

#: ``<group>/<Kind>`` of the storage version, with the first word of the group → module below this package; it has a class ``<Kind>Strategy``.
STRATEGY_MODULES: Final[Mapping[str, str]] = {
    "admissionregistration/MutatingAdmissionPolicy": "admissionregistration.mutatingadmissionpolicy",
    "admissionregistration/MutatingAdmissionPolicyBinding": "admissionregistration.mutatingadmissionpolicybinding",
    "admissionregistration/MutatingWebhookConfiguration": "admissionregistration.mutatingwebhookconfiguration",
    "admissionregistration/ValidatingAdmissionPolicy": "admissionregistration.validatingadmissionpolicy",
    "admissionregistration/ValidatingAdmissionPolicyBinding": "admissionregistration.validatingadmissionpolicybinding",
    "admissionregistration/ValidatingWebhookConfiguration": "admissionregistration.validatingwebhookconfiguration",
    "apiextensions/CustomResourceDefinition": "apiextensions.customresourcedefinition.strategy",
    "apiregistration/APIService": "apiregistration.apiservice",
    "apps/ControllerRevision": "apps.controllerrevision",
    "apps/DaemonSet": "apps.daemonset.strategy",
    "apps/Deployment": "apps.deployment.strategy",
    "apps/ReplicaSet": "apps.replicaset.strategy",
    "apps/StatefulSet": "apps.statefulset.strategy",
    "autoscaling/HorizontalPodAutoscaler": "autoscaling.horizontalpodautoscaler.strategy",
    "batch/CronJob": "batch.cronjob.strategy",
    "batch/Job": "batch.job.strategy",
    "certificates/CertificateSigningRequest": "certificates.certificatesigningrequest.strategy",
    "coordination/Lease": "coordination.lease.strategy",
    "coordination/LeaseCandidate": "coordination.leasecandidate",
    "core/ComponentStatus": "core.componentstatus",
    "core/ConfigMap": "core.configmap",
    "core/Endpoints": "core.endpoints",
    "core/Event": "core.event.strategy",
    "core/LimitRange": "core.limitrange",
    "core/Namespace": "core.namespace",
    "core/Node": "core.node.strategy",
    "core/PersistentVolume": "core.persistentvolume.strategy",
    "core/PersistentVolumeClaim": "core.persistentvolumeclaim.strategy",
    "core/Pod": "core.pod.strategy",
    "core/PodTemplate": "core.podtemplate",
    "core/ReplicationController": "core.replicationcontroller",
    "core/ResourceQuota": "core.resourcequota",
    "core/Secret": "core.secret.strategy",
    "core/Service": "core.service.strategy",
    "core/ServiceAccount": "core.serviceaccount",
    "discovery/EndpointSlice": "discovery.endpointslice.strategy",
    "flowcontrol/FlowSchema": "flowcontrol.flowschema.strategy",
    "flowcontrol/PriorityLevelConfiguration": "flowcontrol.prioritylevelconfiguration.strategy",
    "networking/IPAddress": "networking.ipaddress",
    "networking/Ingress": "networking.ingress.strategy",
    "networking/IngressClass": "networking.ingressclass",
    "networking/NetworkPolicy": "networking.networkpolicy.strategy",
    "networking/ServiceCIDR": "networking.servicecidr",
    "node/RuntimeClass": "node.runtimeclass",
    "policy/PodDisruptionBudget": "policy.poddisruptionbudget.strategy",
    "rbac/ClusterRole": "rbac.clusterrole",
    "rbac/ClusterRoleBinding": "rbac.clusterrolebinding",
    "rbac/Role": "rbac.role",
    "rbac/RoleBinding": "rbac.rolebinding",
    "resource/DeviceClass": "resource.deviceclass",
    "resource/ResourceClaim": "resource.resourceclaim.strategy",
    "resource/ResourceClaimTemplate": "resource.resourceclaimtemplate",
    "resource/ResourceSlice": "resource.resourceslice.strategy",
    "scheduling/PriorityClass": "scheduling.priorityclass",
    "storage/CSIDriver": "storage.csidriver.strategy",
    "storage/CSINode": "storage.csinode.strategy",
    "storage/CSIStorageCapacity": "storage.csistoragecapacity",
    "storage/StorageClass": "storage.storageclass.strategy",
    "storagemigration/StorageVersionMigration": "storagemigration.storageversionmigration",
    "storage/VolumeAttachment": "storage.volumeattachment.strategy",
    "storage/VolumeAttributesClass": "storage.volumeattributesclass",
}


def strategy_class(resource: Resource) -> type[Strategy]:
    """Return the strategy class of a built-in kind; a kind of several groups has one, in its storage group.

    Raises ``LookupError`` for a kind that the table does not list, so that no kind goes without validation unnoticed.
    """
    key = strategy_key(resource)
    module = STRATEGY_MODULES.get(key)
    if module is None:
        raise LookupError(f"{key}: no strategy; name its module in steersman.apiserver.kinds.strategies")
    strategy: type[Strategy] = getattr(import_module(_PACKAGE + module), f"{resource.kind}Strategy")
    return strategy


def strategy_key(resource: Resource) -> str:
    """Return the key of a resource in ``STRATEGY_MODULES``."""
    group = resource.storage_api_version.rpartition("/")[0] if resource.storage_api_version else resource.group
    return f"{group.partition('.')[0] or 'core'}/{resource.kind}"
