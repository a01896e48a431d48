"""Defaults of Pod specs and Pod templates. Upstream: ``SetDefaults_PodSpec`` and the functions it calls.

``default_pod_spec`` applies to Pods and templates; ``default_pod`` adds what only Pods get: ``enableServiceLinks``,
requests from limits, host ports with ``hostNetwork``. All functions are idempotent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.workmeter import charged
from steersman.apiserver.kinds.shared.podspec.disabled import drop_disabled
from steersman.apiserver.kinds.shared.podspec.images import default_pull_policy
from steersman.apiserver.kinds.shared.podspec.resources import (
    default_pod_level_resources,
    default_requests_from_limits,
    default_resource_requirements,
    round_resource_list,
)
from steersman.apiserver.kinds.shared.podspec.volumes import (
    default_field_ref,
    default_resource_field_ref,
    default_volume,
)

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = (*_PROBES, "lifecycle")
_CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
#: Work units of the defaults of a container or volume.
_UNITS: Final = 4
#: Annotations that held init containers before the field existed; ignored and dropped.
_INIT_CONTAINER_ANNOTATIONS: Final = (
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
)


def default_pod(pod: Tree) -> None:
    """Default a Pod. Upstream: ``SetDefaults_Pod``."""
    drop_init_container_annotations(pod.get("metadata"))
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    for containers in ("containers", "initContainers"):
        for container in charged(spec.get(containers) or (), _UNITS):
            default_requests_from_limits(container["resources"])
    if spec.get("resources") is not None:
        default_pod_level_resources(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _default_host_ports(spec)


def default_pod_template(template: Tree) -> None:
    """Default the PodTemplateSpec of a workload or PodTemplate."""
    drop_init_container_annotations(template.setdefault("metadata", {}))
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Tree) -> None:
    """Default the fields that Pods and templates share, after dropping disabled fields."""
    drop_disabled(spec)
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    sync_service_account(spec)
    for containers in _CONTAINER_LISTS:
        for container in charged(spec.get(containers) or (), _UNITS):
            default_container(container)
    for volume in charged(spec.get("volumes") or (), _UNITS):
        default_volume(volume)
    if spec.get("overhead"):
        round_resource_list(spec["overhead"])
    if spec.get("resources") is not None:
        default_resource_requirements(spec["resources"])


def sync_service_account(spec: Tree) -> None:
    """Synchronize ``serviceAccountName`` and its deprecated alias ``serviceAccount``; the former wins."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def default_container(container: Tree) -> None:
    """Default a container, init container or ephemeral container."""
    port: Tree  # typed, as compiled code then reads it directly
    variable: Tree
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    resources = container.get("resources")
    if resources is None:
        container["resources"] = {}
    elif resources:
        default_resource_requirements(resources)
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        if (source := variable.get("valueFrom")) is not None:
            _default_env_source(source)
    if container.keys().isdisjoint(_HANDLERS):
        return
    for name in _PROBES:
        if (probe := container.get(name)) is not None:
            default_probe(probe)
    lifecycle = container.get("lifecycle")
    if lifecycle is not None:
        _default_lifecycle(lifecycle)


def default_probe(probe: Tree) -> None:
    """Default a probe's timings and handler. As in Go, 0 equals unset."""
    if not probe.get("timeoutSeconds"):
        probe["timeoutSeconds"] = 1
    if not probe.get("periodSeconds"):
        probe["periodSeconds"] = 10
    if not probe.get("successThreshold"):
        probe["successThreshold"] = 1
    if not probe.get("failureThreshold"):
        probe["failureThreshold"] = 3
    _default_http_get(probe.get("httpGet"))
    grpc = probe.get("grpc")
    if grpc is not None and grpc.get("service") is None:
        grpc["service"] = ""


def drop_init_container_annotations(metadata: Tree | None) -> None:
    """Drop the deprecated annotations that held init containers."""
    annotations: dict[str, Any] | None = metadata.get("annotations") if metadata else None
    if not metadata or not annotations:
        return
    for name in _INIT_CONTAINER_ANNOTATIONS:
        annotations.pop(name, None)
    if not annotations:
        del metadata["annotations"]


def _default_lifecycle(lifecycle: Tree) -> None:
    for name in ("postStart", "preStop"):
        if (handler := lifecycle.get(name)) is not None:
            _default_http_get(handler.get("httpGet"))


def _default_http_get(action: Tree | None) -> None:
    if action is None:
        return
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"


def _default_env_source(source: Tree) -> None:
    if (ref := source.get("fieldRef")) is not None:
        default_field_ref(ref)
    if (ref := source.get("resourceFieldRef")) is not None:
        default_resource_field_ref(ref)
    if (ref := source.get("fileKeyRef")) is not None and ref.get("optional") is None:
        ref["optional"] = False


def _default_host_ports(spec: Tree) -> None:
    """Default ``hostPort`` to ``containerPort`` under ``hostNetwork``."""
    for containers in ("containers", "initContainers"):
        for container in spec.get(containers) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]
