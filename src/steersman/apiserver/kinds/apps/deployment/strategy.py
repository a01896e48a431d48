"""Strategy of Deployments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, ScalePaths, Strategy
from steersman.apiserver.kinds.apps.deployment import validation
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod_template
from steersman.apiserver.kinds.shared.template_warnings import workload_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_TEMPLATE: Final = Path("spec", "template")
#: Annotation that stands for the field ``spec.rollbackTo`` of the internal version.
_ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"


class DeploymentStrategy(Strategy):
    """Strategy of Deployments. Annotations raise the generation, as the controller copies them to ReplicaSets."""

    group_resource = "deployments.apps"
    has_generation = True
    scale = ScalePaths()
    reset_fields = {"": (("status",),), "status": (("spec",), ("metadata", "labels"))}
    columns = (
        columns.NAME_COLUMN,
        Column("Ready", description="Number of the pod with ready state"),
        Column("Up-to-date", field="apps.v1.DeploymentStatus.updatedReplicas"),
        Column("Available", field="apps.v1.DeploymentStatus.availableReplicas"),
        columns.AGE_COLUMN,
        Column("Containers", priority=1, description=columns.CONTAINERS_TEXT),
        Column("Images", priority=1, description=columns.IMAGES_TEXT),
        Column("Selector", priority=1, field="apps.v1.DeploymentSpec.selector"),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        if spec.get("replicas") is None:
            spec["replicas"] = 1
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10
        if spec.get("progressDeadlineSeconds") is None:
            spec["progressDeadlineSeconds"] = 600
        strategy = spec.setdefault("strategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Keep the labels, which status writes of other kinds may change, and the requested rollback, as a part of the spec.

        Upstream: pkg/apis/apps/v1/conversion.go, pkg/registry/apps/deployment/strategy.go
        """
        super().prepare_for_status_update(ctx, obj, old)
        labels = old["metadata"].get("labels")
        if labels is None:
            obj["metadata"].pop("labels", None)
        else:
            obj["metadata"]["labels"] = dict(labels)
        _keep_requested_rollback(obj["metadata"], old["metadata"])

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validation.validate_deployment(obj, facts_for=ctx.facts_for))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validation.validate_deployment_update(obj, old, facts_for=ctx.facts_for))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validation.validate_deployment_status(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(workload_warnings(obj, old, _TEMPLATE, facts_for=ctx.facts_for))

    def generation_view(self, obj: Tree) -> Any:
        return obj.get("spec"), obj["metadata"].get("annotations")

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        template = (spec.get("template") or {}).get("spec")
        return [
            columns.name_of(obj),
            f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
            status.get("updatedReplicas", 0),
            status.get("availableReplicas", 0),
            columns.age(obj, now),
            columns.container_names(template),
            columns.container_images(template),
            columns.selector_text(spec.get("selector")),
        ]


def _keep_requested_rollback(metadata: Tree, old: Tree) -> None:
    """Set the rollback annotation to its old value; an empty one requests no rollback and is an annotation like any other."""
    annotations = dict(metadata.get("annotations") or {})
    requested = (old.get("annotations") or {}).get(_ROLLBACK_TO)
    if requested:
        annotations[_ROLLBACK_TO] = requested
    elif annotations.get(_ROLLBACK_TO):
        del annotations[_ROLLBACK_TO]
    else:
        return
    if annotations:
        metadata["annotations"] = annotations
    else:
        del metadata["annotations"]
