"""Strategy of StatefulSets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import names
from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, ScalePaths, Strategy
from steersman.apiserver.kinds.apps.statefulset import validation
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod_template
from steersman.apiserver.kinds.shared.podspec.resources import round_resource_list
from steersman.apiserver.kinds.shared.podspec.warnings import claim_spec_warnings
from steersman.apiserver.kinds.shared.template_warnings import workload_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


_SPEC: Final = Path("spec")
_NEGATIVE_HISTORY: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


class StatefulSetStrategy(Strategy):
    """Strategy of StatefulSets. Volume claim templates are complete claims, with kind and status."""

    group_resource = "statefulsets.apps"
    has_generation = True
    scale = ScalePaths()
    columns = (
        columns.NAME_COLUMN,
        Column("Ready", description="Number of the pod with ready state"),
        columns.AGE_COLUMN,
        Column("Containers", priority=1, description=columns.CONTAINERS_TEXT),
        Column("Images", priority=1, description=columns.IMAGES_TEXT),
    )

    def __init__(self, *, has_max_unavailable: bool = False) -> None:
        """``has_max_unavailable``: the feature gate MaxUnavailableStatefulSet; without it the field is dropped."""
        self._has_max_unavailable: Final = has_max_unavailable

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        if not spec.get("podManagementPolicy"):
            spec["podManagementPolicy"] = "OrderedReady"
        _default_update_strategy(spec.setdefault("updateStrategy", {}), has_max_unavailable=self._has_max_unavailable)
        retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        for event in ("whenDeleted", "whenScaled"):
            if not retention.get(event):
                retention[event] = "Retain"
        if spec.get("replicas") is None:
            spec["replicas"] = 1
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10
        for claim in spec.get("volumeClaimTemplates") or ():
            _default_claim_template(claim)

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        if not self._has_max_unavailable:
            _drop_max_unavailable(obj, None)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        if not self._has_max_unavailable:
            _drop_max_unavailable(obj, old)

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_dns_label(name, prefix=prefix)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validation.validate_stateful_set(obj, facts_for=ctx.facts_for))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validation.validate_stateful_set_update(obj, old, facts_for=ctx.facts_for))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validation.validate_stateful_set_status(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        spec = obj["spec"]
        warnings = list(workload_warnings(obj, old, _SPEC.child("template"), with_name=False, facts_for=ctx.facts_for))
        for position, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            path = _SPEC.child("volumeClaimTemplates").index(position)
            # upstream's paths differ
            warnings += claim_spec_warnings(claim.get("spec") or {}, path if old is None else path.child("Spec"))
        if (spec.get("revisionHistoryLimit") or 0) < 0:
            warnings.append(_NEGATIVE_HISTORY)
        return warnings

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        template = (spec.get("template") or {}).get("spec")
        return [
            columns.name_of(obj),
            f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
            columns.age(obj, now),
            columns.container_names(template),
            columns.container_images(template),
        ]


def _default_update_strategy(strategy: Tree, *, has_max_unavailable: bool) -> None:
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        if strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and rolling is not None:
        if rolling.get("partition") is None:
            rolling["partition"] = 0
        if has_max_unavailable and rolling.get("maxUnavailable") is None:
            rolling["maxUnavailable"] = 1


def _drop_max_unavailable(obj: Tree, old: Tree | None) -> None:
    """Drop ``maxUnavailable`` unless the old object has it."""
    if old is None or _rolling(old).get("maxUnavailable") is None:
        _rolling(obj).pop("maxUnavailable", None)


def _rolling(obj: Tree) -> Tree:
    strategy: Tree = obj["spec"].get("updateStrategy") or {}
    return strategy.get("rollingUpdate") or {}


def _default_claim_template(claim: Tree) -> None:
    claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
    spec = claim.setdefault("spec", {})
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    for amounts in (spec.get("resources") or {}).values():
        if isinstance(amounts, dict):
            round_resource_list(amounts)
    status = claim.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"
