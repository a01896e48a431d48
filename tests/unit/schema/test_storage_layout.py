"""Key prefixes and storage versions of every built-in resource, as kube-apiserver 1.36 has them.

Upstream: ``SpecialDefaultResourcePrefixes`` (pkg/kubeapiserver/default_storage_factory_builder.go), test/integration/etcd/data.go.
"""

from __future__ import annotations

from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.runtime_config import served_resources

#: Resources that are served by default.
SERVED = served_resources(APIServerOptions())

#: Group resource → prefix of its keys, and apiVersion inside its values.
EXPECTED = {
    "apiservices.apiregistration.k8s.io": ("/registry/apiregistration.k8s.io/apiservices", "apiregistration.k8s.io/v1"),
    "certificatesigningrequests.certificates.k8s.io": (
        "/registry/certificatesigningrequests",
        "certificates.k8s.io/v1",
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": ("/registry/clusterrolebindings", "rbac.authorization.k8s.io/v1"),
    "clusterroles.rbac.authorization.k8s.io": ("/registry/clusterroles", "rbac.authorization.k8s.io/v1"),
    "configmaps": ("/registry/configmaps", "v1"),
    "controllerrevisions.apps": ("/registry/controllerrevisions", "apps/v1"),
    "cronjobs.batch": ("/registry/cronjobs", "batch/v1"),
    "csidrivers.storage.k8s.io": ("/registry/csidrivers", "storage.k8s.io/v1"),
    "csinodes.storage.k8s.io": ("/registry/csinodes", "storage.k8s.io/v1"),
    "csistoragecapacities.storage.k8s.io": ("/registry/csistoragecapacities", "storage.k8s.io/v1"),
    "customresourcedefinitions.apiextensions.k8s.io": (
        "/registry/apiextensions.k8s.io/customresourcedefinitions",
        "apiextensions.k8s.io/v1",
    ),
    "daemonsets.apps": ("/registry/daemonsets", "apps/v1"),
    "deployments.apps": ("/registry/deployments", "apps/v1"),
    "deviceclasses.resource.k8s.io": ("/registry/deviceclasses", "resource.k8s.io/v1"),
    "endpoints": ("/registry/services/endpoints", "v1"),
    "endpointslices.discovery.k8s.io": ("/registry/endpointslices", "discovery.k8s.io/v1"),
    "events": ("/registry/events", "v1"),
    "events.events.k8s.io": ("/registry/events", "v1"),
    "flowschemas.flowcontrol.apiserver.k8s.io": ("/registry/flowschemas", "flowcontrol.apiserver.k8s.io/v1"),
    "horizontalpodautoscalers.autoscaling": ("/registry/horizontalpodautoscalers", "autoscaling/v2"),
    "ingressclasses.networking.k8s.io": ("/registry/ingressclasses", "networking.k8s.io/v1"),
    "ingresses.networking.k8s.io": ("/registry/ingress", "networking.k8s.io/v1"),
    "ipaddresses.networking.k8s.io": ("/registry/ipaddresses", "networking.k8s.io/v1"),
    "jobs.batch": ("/registry/jobs", "batch/v1"),
    "leasecandidates.coordination.k8s.io": ("/registry/leasecandidates", "coordination.k8s.io/v1beta1"),
    "leases.coordination.k8s.io": ("/registry/leases", "coordination.k8s.io/v1"),
    "limitranges": ("/registry/limitranges", "v1"),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": (
        "/registry/mutatingadmissionpolicies",
        "admissionregistration.k8s.io/v1beta1",
    ),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": (
        "/registry/mutatingadmissionpolicybindings",
        "admissionregistration.k8s.io/v1beta1",
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": (
        "/registry/mutatingwebhookconfigurations",
        "admissionregistration.k8s.io/v1",
    ),
    "namespaces": ("/registry/namespaces", "v1"),
    "networkpolicies.networking.k8s.io": ("/registry/networkpolicies", "networking.k8s.io/v1"),
    "nodes": ("/registry/minions", "v1"),
    "persistentvolumeclaims": ("/registry/persistentvolumeclaims", "v1"),
    "persistentvolumes": ("/registry/persistentvolumes", "v1"),
    "poddisruptionbudgets.policy": ("/registry/poddisruptionbudgets", "policy/v1"),
    "pods": ("/registry/pods", "v1"),
    "podtemplates": ("/registry/podtemplates", "v1"),
    "priorityclasses.scheduling.k8s.io": ("/registry/priorityclasses", "scheduling.k8s.io/v1"),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": (
        "/registry/prioritylevelconfigurations",
        "flowcontrol.apiserver.k8s.io/v1",
    ),
    "replicasets.apps": ("/registry/replicasets", "apps/v1"),
    "replicationcontrollers": ("/registry/controllers", "v1"),
    "resourceclaims.resource.k8s.io": ("/registry/resourceclaims", "resource.k8s.io/v1"),
    "resourceclaimtemplates.resource.k8s.io": ("/registry/resourceclaimtemplates", "resource.k8s.io/v1"),
    "resourcequotas": ("/registry/resourcequotas", "v1"),
    "resourceslices.resource.k8s.io": ("/registry/resourceslices", "resource.k8s.io/v1"),
    "rolebindings.rbac.authorization.k8s.io": ("/registry/rolebindings", "rbac.authorization.k8s.io/v1"),
    "roles.rbac.authorization.k8s.io": ("/registry/roles", "rbac.authorization.k8s.io/v1"),
    "runtimeclasses.node.k8s.io": ("/registry/runtimeclasses", "node.k8s.io/v1"),
    "secrets": ("/registry/secrets", "v1"),
    "serviceaccounts": ("/registry/serviceaccounts", "v1"),
    "servicecidrs.networking.k8s.io": ("/registry/servicecidrs", "networking.k8s.io/v1"),
    "services": ("/registry/services/specs", "v1"),
    "statefulsets.apps": ("/registry/statefulsets", "apps/v1"),
    "storageclasses.storage.k8s.io": ("/registry/storageclasses", "storage.k8s.io/v1"),
    "validatingadmissionpolicies.admissionregistration.k8s.io": (
        "/registry/validatingadmissionpolicies",
        "admissionregistration.k8s.io/v1",
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": (
        "/registry/validatingadmissionpolicybindings",
        "admissionregistration.k8s.io/v1",
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": (
        "/registry/validatingwebhookconfigurations",
        "admissionregistration.k8s.io/v1",
    ),
    "volumeattachments.storage.k8s.io": ("/registry/volumeattachments", "storage.k8s.io/v1"),
    "volumeattributesclasses.storage.k8s.io": ("/registry/volumeattributesclasses", "storage.k8s.io/v1"),
}


def test_every_stored_resource_has_upstreams_key_prefix_and_storage_version():
    stored = {r.group_resource: (r.key_prefix, r.stored_as) for r in SERVED.resources if r.key_prefix}
    assert stored == EXPECTED


def test_every_readable_resource_is_stored():
    readable = {r.group_resource for r in SERVED.resources if {"list", "watch"} <= set(r.verbs)}
    assert readable == EXPECTED.keys()


def test_no_key_prefix_is_the_start_of_another_resources_keys():
    prefixes = {prefix for prefix, _ in EXPECTED.values()}
    assert [(a, b) for a in prefixes for b in prefixes if a != b and f"{b}/".startswith(f"{a}/")] == []
