"""Strategy of ReplicaSets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, ScalePaths, Strategy
from steersman.apiserver.kinds.apps.replicaset import validation
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod_template
from steersman.apiserver.kinds.shared.template_warnings import workload_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_TEMPLATE: Final = Path("spec", "template")


class ReplicaSetStrategy(Strategy):
    """Strategy of ReplicaSets."""

    group_resource = "replicasets.apps"
    has_generation = True
    scale = ScalePaths()
    columns = (
        columns.NAME_COLUMN,
        Column("Desired", type="integer", field="apps.v1.ReplicaSetSpec.replicas"),
        Column("Current", type="integer", field="apps.v1.ReplicaSetStatus.replicas"),
        Column("Ready", type="integer", field="apps.v1.ReplicaSetStatus.readyReplicas"),
        columns.AGE_COLUMN,
        Column("Containers", priority=1, description=columns.CONTAINERS_TEXT),
        Column("Images", priority=1, description=columns.IMAGES_TEXT),
        Column("Selector", priority=1, field="apps.v1.ReplicaSetSpec.selector"),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("template") is not None:
            default_pod_template(spec["template"])
        if spec.get("replicas") is None:
            spec["replicas"] = 1

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validation.validate_replica_set(obj, facts_for=ctx.facts_for))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validation.validate_replica_set_update(obj, old, facts_for=ctx.facts_for))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validation.validate_replica_set_status(obj))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(workload_warnings(obj, old, _TEMPLATE, facts_for=ctx.facts_for))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        template = (spec.get("template") or {}).get("spec")
        return [
            columns.name_of(obj),
            spec.get("replicas", 0),
            status.get("replicas", 0),
            status.get("readyReplicas", 0),
            columns.age(obj, now),
            columns.container_names(template),
            columns.container_images(template),
            columns.selector_text(spec.get("selector")),
        ]
