"""Node objects: templates and their validation, registration objects, statuses and conditions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman.apimachinery.names import check_dns1123_subdomain, check_label_value, check_qualified_name
from steersman.apimachinery.quantity import parse
from steersman.apimachinery.timestamps import format_time
from steersman.version import KUBERNETES_VERSION
from steersman.workloads.resources import is_extended

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from steersman.apimachinery.trees import Tree


#: Annotation of simulated nodes; KWOK's name, so that its manifests work unchanged.
FAKE: Final = "kwok.x-k8s.io/node"
#: Annotation that stops a node if ``true``: no heartbeats, and no status changes of its pods.
STOPPED: Final = "nodes.steersman.dev/stopped"
#: Annotation for API servers: the node's pod addresses are not routable, and its kubelet dials them (``CONNECT``).
DIALS_PODS: Final = "nodes.steersman.dev/dials-pods"

#: Type, status of a healthy node, reason and message.
HEALTHY_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class TemplateError(ValueError):
    """Invalid template; the message names the field and the reason."""


class NodeTemplate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Template of simulated nodes, read from YAML; every field has a default."""

    #: Name prefix, followed by the node's number; ``{n}`` marks another place for the number.
    name: str = "node"
    #: Number of nodes; None for the value of ``--nodes``.
    count: int | None = None
    capacity: dict[str, str] = {}
    #: Allocatable resources; a resource without an entry is allocatable up to its capacity.
    allocatable: dict[str, str] = {}
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: list[dict[str, str]] = []
    architecture: str = "amd64"

    def check(self) -> None:
        """Raise TemplateError for a value that the API server would reject; it names the field."""
        for field in ("capacity", "allocatable"):
            for name, text in getattr(self, field).items():
                try:
                    is_negative = parse(text) < parse("0")
                except ValueError as error:
                    raise TemplateError(f'{field}.{name}: "{text}": {error}') from None
                if is_negative:
                    raise TemplateError(f'{field}.{name}: "{text}": must be greater than or equal to 0')
        if self.count is not None and self.count < 0:
            raise TemplateError(f"count: {self.count}: must be greater than or equal to 0")
        for fault in check_dns1123_subdomain(self.name_of(0)):
            raise TemplateError(f'name: "{self.name}": {fault}')
        for label, value in self.labels.items():
            for fault in (*check_qualified_name(label), *check_label_value(value)):
                raise TemplateError(f'labels.{label}: "{value}": {fault}')
        for index, taint in enumerate(self.taints):
            for fault in check_qualified_name(taint.get("key", "")):
                raise TemplateError(f'taints[{index}].key: "{taint.get("key", "")}": {fault}')
            if taint.get("effect") not in TAINT_EFFECTS:
                expected = ", ".join(TAINT_EFFECTS)
                raise TemplateError(f'taints[{index}].effect: "{taint.get("effect", "")}": expected one of {expected}')

    def name_of(self, number: int) -> str:
        """Return the name of the node with this number, from 0."""
        return self.name.replace("{n}", str(number)) if "{n}" in self.name else f"{self.name}-{number}"


class KubeletAddress(NamedTuple):
    """Address at which API servers reach the kubelet of the simulated nodes.

    It is the nodes' ``Hostname`` address, the first in the default of ``--kubelet-preferred-address-types``: their
    ``InternalIP`` is simulated and not routable.
    """

    host: str
    port: int

    @property
    def _as_address(self) -> Tree:
        return {"type": "Hostname", "address": self.host}

    @property
    def _as_endpoints(self) -> Tree:
        return {"kubeletEndpoint": {"Port": self.port}}

    def set_on(self, node: Tree) -> None:
        """Set the kubelet's address and port in a node, or in a patch of one, whose status has the remaining addresses."""
        node.setdefault("metadata", {}).setdefault("annotations", {})[DIALS_PODS] = "true"
        others = [address for address in node["status"].get("addresses") or () if address.get("type") != "Hostname"]
        node["status"] |= {"addresses": [*others, self._as_address], "daemonEndpoints": self._as_endpoints}

    def is_set_on(self, node: Tree) -> bool:
        """True if the node has the kubelet's address and port."""
        status = node.get("status") or {}
        named = [address for address in status.get("addresses") or () if address.get("type") == "Hostname"]
        dials = (node["metadata"].get("annotations") or {}).get(DIALS_PODS) == "true"
        return dials and named == [self._as_address] and status.get("daemonEndpoints") == self._as_endpoints


#: Features that the kubelet declares (KEP-5328), sorted; pods that need one are not admitted by other nodes.
DECLARED_FEATURES: Final = (
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)
DEFAULT_CAPACITY: Final = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"}


def new_node(template: NodeTemplate, name: str, *, ip: str, now: datetime) -> Tree:
    """Return the object that a kubelet registers."""
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": template.architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": template.architecture,
        **template.labels,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {FAKE: "fake", **template.annotations}},
        "spec": {"taints": template.taints} if template.taints else {},
        "status": new_status(template, name, ip=ip, now=now),
    }


def new_status(template: NodeTemplate, name: str, *, ip: str, now: datetime, previous: Tree | None = None) -> Tree:
    """Return the status of a started node; values in its ``previous`` status take precedence."""
    previous = previous or {}
    capacity = {**DEFAULT_CAPACITY, **template.capacity, **(previous.get("capacity") or {})}
    return {
        "capacity": capacity,
        "allocatable": previous.get("allocatable") or {**capacity, **template.allocatable},
        "addresses": previous.get("addresses")
        or [{"type": "InternalIP", "address": ip}, {"type": "Hostname", "address": name}],
        "conditions": refresh_conditions(previous.get("conditions") or (), now=now),
        "nodeInfo": {
            "architecture": template.architecture,
            "operatingSystem": "linux",
            "kubeletVersion": KUBERNETES_VERSION,
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "simulated://1",
            "osImage": "simulated",
            "kernelVersion": "",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
        },
        "declaredFeatures": previous.get("declaredFeatures") or list(DECLARED_FEATURES),
        "phase": "Running",
    }


def allocatable_changes(status: Tree, reserved: Collection[str] = ()) -> dict[str, str | None]:
    """Return a merge patch of ``status.allocatable`` that follows a changed ``status.capacity``.

    Resources of the capacity become allocatable, and extended resources follow each change of it, because administrators
    advertise them in the capacity only; ``reserved`` ones are unchanged. Upstream: ``MachineInfo`` in
    pkg/kubelet/nodestatus/setters.go.
    """
    capacity, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    changes: dict[str, str | None] = {
        name: amount
        for name, amount in capacity.items()
        if name not in reserved and (name not in allocatable or (is_extended(name) and allocatable[name] != amount))
    }
    missing_resources = [
        name for name in allocatable if name not in capacity and name not in reserved and is_extended(name)
    ]
    return changes | dict.fromkeys(missing_resources)


def refresh_conditions(stored: Any, *, now: datetime) -> list[Tree]:
    """Return the conditions with a heartbeat at ``now``; a condition that a user has set is preserved, which simulates
    failures.
    """
    moment = format_time(now)
    by_type = {condition.get("type"): dict(condition) for condition in stored}
    for kind, status, reason, message in HEALTHY_CONDITIONS:
        fresh = {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": moment}
        old = by_type.get(kind)
        # ``Unknown`` was set by the node lifecycle controller while heartbeats were missing.
        if old is None or old.get("status") == "Unknown":
            by_type[kind] = fresh
    return [{**condition, "lastHeartbeatTime": moment} for condition in by_type.values()]


def is_simulated(node: Tree) -> bool:
    """True if the node has the annotation of simulated nodes."""
    return (node["metadata"].get("annotations") or {}).get(FAKE) == "fake"


def is_stopped(node: Tree) -> bool:
    """True if the node has the stop annotation."""
    return (node["metadata"].get("annotations") or {}).get(STOPPED) == "true"


def internal_ip(node: Tree) -> str:
    """Return the node's ``InternalIP``, the host IP of its pods; empty without one."""
    for address in (node.get("status") or {}).get("addresses") or ():
        if address.get("type") == "InternalIP":
            return str(address.get("address", ""))
    return ""


def kubelet_port(node: Tree) -> int:
    """Return the port of the node's kubelet; 0 without one."""
    endpoints = (node.get("status") or {}).get("daemonEndpoints") or {}
    return int((endpoints.get("kubeletEndpoint") or {}).get("Port") or 0)


def read_templates(document: Any) -> list[NodeTemplate]:
    """Return the templates of a document: one, or a list under ``nodes``. Raise TemplateError, which names the field."""
    if not isinstance(document, dict) or "nodes" not in document:
        return [_read_template(document, "")]
    if not isinstance(document["nodes"], list):
        raise TemplateError("nodes: expected a list of templates")
    return [_read_template(template, f"nodes[{index}].") for index, template in enumerate(document["nodes"])]


def _read_template(tree: Any, prefix: str) -> NodeTemplate:
    try:
        template = msgspec.convert(tree, NodeTemplate)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        if unknown := re.fullmatch("Object contains unknown field `(.*)`", message):
            field_names = ", ".join(field.encode_name for field in msgspec.structs.fields(NodeTemplate))
            raise TemplateError(f"{prefix}{unknown[1]}: unknown field, expected one of {field_names}") from None
        path = f"{prefix.removesuffix('.')}{place.removesuffix('`')}".lstrip(".") or "document"
        raise TemplateError(f"{path}: {message[0].lower()}{message[1:]}") from None
    try:
        template.check()
    except TemplateError as error:
        raise TemplateError(f"{prefix}{error}") from None
    return template
