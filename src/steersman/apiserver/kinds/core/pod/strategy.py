"""Strategy of Pods.

Hooks of ``/ephemeralcontainers`` and ``/resize`` are in ``subresources.py``, the Table in ``table.py``.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.generic.strategy import Strategy, UpdateHooks
from steersman.apiserver.generic.writing import time_text
from steersman.apiserver.kinds.core.node.strategy import sync_first
from steersman.apiserver.kinds.core.pod.status import pod_status_warnings, validate_pod_status
from steersman.apiserver.kinds.core.pod.subresources import (
    keep_all_but_ephemeral_containers,
    keep_all_but_resources,
    validate_ephemeral_containers_update,
    validate_resize,
)
from steersman.apiserver.kinds.core.pod.table import POD_COLUMNS, pod_cells, pod_row_conditions
from steersman.apiserver.kinds.core.pod.updates import validate_pod_update
from steersman.apiserver.kinds.core.pod.validation import validate_pod_create
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod, drop_init_container_annotations
from steersman.apiserver.kinds.shared.podspec.disabled import drop_disabled_status
from steersman.apiserver.kinds.shared.podspec.label_keys import merge_label_keys
from steersman.apiserver.kinds.shared.podspec.profile_annotations import apply_app_armor_annotations
from steersman.apiserver.kinds.shared.podspec.resources import qos_class
from steersman.apiserver.kinds.shared.podspec.warnings import pod_warnings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

PENDING: Final = "Pending"
GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"


def _spec(obj: Tree) -> Tree:
    return obj.get("spec") or {}


def _status(obj: Tree) -> Tree:
    return obj.get("status") or {}


def _first_ip(obj: Tree) -> str:
    ips = _status(obj).get("podIPs") or ()
    return str(ips[0].get("ip", "")) if ips else ""


class PodStrategy(Strategy):
    """Strategy of Pods: generation follows the spec; the deletion of a scheduled Pod waits for its grace period."""

    group_resource = "pods"
    metadata_checks_on_update = (1, 1)
    returns_deleted_object = True
    has_generation = True
    has_cacheable_spec_defaults = True
    columns = POD_COLUMNS
    field_labels: ClassVar = {
        "spec.nodeName": lambda obj: _spec(obj).get("nodeName", ""),
        "spec.restartPolicy": lambda obj: _spec(obj).get("restartPolicy", ""),
        "spec.schedulerName": lambda obj: _spec(obj).get("schedulerName", ""),
        "spec.serviceAccountName": lambda obj: _spec(obj).get("serviceAccountName", ""),
        "spec.hostNetwork": lambda obj: "true" if _spec(obj).get("hostNetwork") else "false",
        "status.phase": lambda obj: _status(obj).get("phase", ""),
        "status.podIP": _first_ip,
        "status.podIPs": lambda _: "",  # valid field label, always empty, as upstream
        "status.nominatedNodeName": lambda obj: _status(obj).get("nominatedNodeName", ""),
    }
    reset_fields: ClassVar = {
        "": (("status",),),
        "status": (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    }

    def default(self, obj: Tree, version: str) -> None:
        default_pod(obj)
        status = obj.get("status")
        if status:
            _sync_ips(status)

    def default_except_spec(self, obj: Tree, version: str) -> None:
        drop_init_container_annotations(obj["metadata"])

    def update_hooks(self) -> Mapping[str, UpdateHooks]:
        return {
            **super().update_hooks(),
            "ephemeralcontainers": UpdateHooks(self.prepare_for_ephemeralcontainers, self.validate_ephemeralcontainers),
            "resize": UpdateHooks(self.prepare_for_resize, self.validate_resize),
        }

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        spec, metadata = obj["spec"], obj["metadata"]
        _normalize_grace_period(spec)
        merge_label_keys(spec, metadata.get("labels") or {})
        if metadata.get("annotations"):
            for text in apply_app_armor_annotations(obj):
                ctx.warn(text)
        facts = ctx.spec_facts = ctx.facts_for(spec)  # final: no later hook changes the spec
        if not facts.qos_class:
            facts.qos_class = qos_class(spec)
        status: Tree = {"phase": PENDING, "qosClass": facts.qos_class}
        if spec.get("schedulingGates"):
            status["conditions"] = [gated_condition(time_text(ctx.now))]
        obj["status"] = status

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        _normalize_grace_period(obj["spec"])

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        # kubelets of old versions corrupt owner references when they write statuses
        references = old["metadata"].get("ownerReferences")
        if references:
            obj["metadata"]["ownerReferences"] = references
        else:
            obj["metadata"].pop("ownerReferences", None)
        status, before = obj.setdefault("status", {}), _status(old)
        if not status.get("qosClass") and before.get("qosClass"):
            status["qosClass"] = before["qosClass"]
        _keep_observed_generations(status, before)
        drop_disabled_status(status)

    def grace_period_seconds(self, ctx: RequestContext, obj: Tree, requested_seconds: int | None) -> int:
        spec = _spec(obj)
        if not spec.get("nodeName") or _status(obj).get("phase") in ("Succeeded", "Failed"):
            return 0
        seconds = requested_seconds if requested_seconds is not None else spec.get("terminationGracePeriodSeconds") or 0
        return seconds if seconds >= 0 else 1

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validate_pod_create(obj, ctx.facts_of_new)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_pod_update(obj, old, ctx.facts_for)

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validate_pod_status(obj, old)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return pod_warnings(obj, ctx.facts_of_new) if old is None else ()

    def status_warnings(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[str]:
        return list(pod_status_warnings(_status(obj)))

    # -- subresources that write the Pod
    # ---------------------------------------------------------------------------------

    def prepare_for_ephemeralcontainers(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Carry over all fields but ``spec.ephemeralContainers``."""
        keep_all_but_ephemeral_containers(obj, old)

    def validate_ephemeralcontainers(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        """Validate an update of ``spec.ephemeralContainers``."""
        return validate_ephemeral_containers_update(obj, old)

    def prepare_for_resize(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Carry over all fields but container and Pod resources."""
        keep_all_but_resources(obj, old)

    def validate_resize(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        """Validate an update of resources."""
        return validate_resize(obj, old)

    # -- Table --------------------------------------------------------------------------------------------------------

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return pod_cells(obj, now)

    def row_conditions(self, obj: Tree) -> Sequence[Tree]:
        return pod_row_conditions(obj)


def _normalize_grace_period(spec: Tree) -> None:
    """Set a negative grace period to one second, the shortest graceful termination."""
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def gated_condition(stamp: str) -> Tree:
    """Return the condition PodScheduled of a Pod with scheduling gates."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": stamp,
        "reason": "SchedulingGated",
        "message": GATED_MESSAGE,
    }


def _sync_ips(status: Tree) -> None:
    """Make ``podIP`` the first of ``podIPs``; if both are set and differ, ``podIP`` wins."""
    ips = status.get("podIPs")
    both = {"one": status.get("podIP"), "many": [ip.get("ip") for ip in ips] if ips else None}
    sync_first(both, one="one", many="many")
    if both["many"] and both["many"] != [ip.get("ip") for ip in ips or ()]:
        status["podIPs"] = [{"ip": ip} for ip in both["many"]]
    if both["one"]:
        status["podIP"] = both["one"]


def _keep_observed_generations(status: Tree, old: Tree) -> None:
    """Keep ``observedGeneration`` of conditions if the client omits it because it does not know the field."""
    if not status.get("observedGeneration") and old.get("observedGeneration"):
        status["observedGeneration"] = old["observedGeneration"]
    before: dict[str, deque[int]] = {}  # by type, which need not be unique
    for condition in old.get("conditions") or ():
        before.setdefault(condition.get("type", ""), deque()).append(condition.get("observedGeneration") or 0)
    for condition in status.get("conditions") or ():
        generations = before.get(condition.get("type", ""))
        generation = generations.popleft() if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation
