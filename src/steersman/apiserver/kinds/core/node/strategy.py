"""Strategy of Nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.generic.columns import AGE_COLUMN, NAME_COLUMN, NONE, UNKNOWN, age, name_of
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.core.node.validation import node_warnings, validate_node, validate_node_update
from steersman.apiserver.kinds.shared.podspec.resources import round_resource_list

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE_LABEL: Final = "kubernetes.io/role"


class NodeStrategy(Strategy):
    """Strategy of Nodes. The status may be set on create and, later, through ``/status``."""

    group_resource = "nodes"
    metadata_checks_on_update = (1, 1)
    namespace_field_label = False
    field_labels: ClassVar = {
        "spec.unschedulable": lambda obj: "true" if (obj.get("spec") or {}).get("unschedulable") else "false"
    }
    columns = (
        NAME_COLUMN,
        Column("Status", description="The status of the node"),
        Column("Roles", description="The roles of the node"),
        AGE_COLUMN,
        Column("Version", field="core.v1.NodeSystemInfo.kubeletVersion"),
        Column("Internal-IP", priority=1, field="core.v1.NodeStatus.addresses"),
        Column("External-IP", priority=1, field="core.v1.NodeStatus.addresses"),
        Column("OS-Image", priority=1, field="core.v1.NodeSystemInfo.osImage"),
        Column("Kernel-Version", priority=1, field="core.v1.NodeSystemInfo.kernelVersion"),
        Column("Container-Runtime", priority=1, field="core.v1.NodeSystemInfo.containerRuntimeVersion"),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.get("spec")
        if spec:
            sync_first(spec, one="podCIDR", many="podCIDRs")
        status = obj.get("status") or {}
        if status.get("capacity"):
            round_resource_list(status["capacity"])
            if not status.get("allocatable"):
                status["allocatable"] = dict(status["capacity"])
        if status.get("allocatable"):
            round_resource_list(status["allocatable"])

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        """Keep the status of a new Node: kubelets register with it."""
        (obj.get("spec") or {}).pop("configSource", None)
        (obj.get("status") or {}).pop("config", None)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        if "configSource" not in (old.get("spec") or {}):
            (obj.get("spec") or {}).pop("configSource", None)

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        if "config" not in (old.get("status") or {}):
            (obj.get("status") or {}).pop("config", None)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_node(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return [*validate_node(obj), *validate_node_update(obj, old)]

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_node_update(obj, old)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(node_warnings(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        status = obj.get("status") or {}
        info = status.get("nodeInfo") or {}
        addresses = status.get("addresses") or ()
        return [
            name_of(obj),
            _status_text(obj),
            ",".join(sorted(_roles(obj))) or NONE,
            age(obj, now),
            info.get("kubeletVersion", ""),
            _first_address(addresses, "InternalIP"),
            _first_address(addresses, "ExternalIP"),
            info.get("osImage") or UNKNOWN,
            _kernel(info),
            info.get("containerRuntimeVersion") or UNKNOWN,
        ]


def sync_first(tree: Tree, *, one: str, many: str) -> None:
    """Make the deprecated field ``one`` equal the first item of ``many``; if both are set and differ, ``one`` wins."""
    single, several = tree.get(one), tree.get(many)
    if single and (not several or several[0] != single):
        tree[many] = [single]
    elif several:
        tree[one] = several[0]


def _kernel(info: Tree) -> str:
    """Return the kernel version with the CPU architecture, which the Table shows since 1.36."""
    version, architecture = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return f"{version} ({architecture})" if architecture and version != UNKNOWN else version


def _status_text(obj: Tree) -> str:
    texts = [
        "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in (obj.get("status") or {}).get("conditions") or ()
        if condition.get("type") == "Ready"
    ][-1:] or ["Unknown"]
    if (obj.get("spec") or {}).get("unschedulable"):
        texts.append("SchedulingDisabled")
    return ",".join(texts)


def _roles(obj: Tree) -> set[str]:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return {role for role in (*roles, labels.get(_ROLE_LABEL, "")) if role}


def _first_address(addresses: Any, kind: str) -> str:
    return next((str(a.get("address", "")) for a in addresses if a.get("type") == kind), NONE)
