"""ReplicationControllers: the selector is a plain map, and labels come from the template where they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steersman.apiserver.registry.columns import (
    AGE_COLUMN,
    NAME_COLUMN,
    age,
    container_images,
    container_names,
    labels_text,
    name_of,
)
from steersman.apiserver.registry.podspec.defaults import default_pod_template
from steersman.apiserver.registry.strategy import Column, ScalePaths, Strategy

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apiserver.registry.strategy import Tree
    from steersman.apiserver.request import RequestContext


class ReplicationControllerStrategy(Strategy):
    """A deletion without a policy leaves the pods, as before owner references existed."""

    group_resource = "replicationcontrollers"
    has_generation = True
    default_propagation = "orphan"
    scale = ScalePaths(selector=("spec", "selector"))
    field_labels: ClassVar = {"status.replicas": lambda obj: str((obj.get("status") or {}).get("replicas", 0))}
    columns = (
        NAME_COLUMN,
        Column("Desired", type="integer"),
        Column("Current", type="integer"),
        Column("Ready", type="integer"),
        AGE_COLUMN,
        Column("Containers", priority=1),
        Column("Images", priority=1),
        Column("Selector", priority=1),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        template = spec.get("template")
        if template is not None:
            labels = (template.get("metadata") or {}).get("labels")
            if labels:
                if not spec.get("selector"):
                    spec["selector"] = dict(labels)
                if not obj["metadata"].get("labels"):
                    obj["metadata"]["labels"] = dict(labels)
            default_pod_template(template)
        if spec.get("replicas") is None:
            spec["replicas"] = 1

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        obj["status"] = {"replicas": 0}

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        pod_spec = (spec.get("template") or {}).get("spec")
        return [
            name_of(obj),
            spec.get("replicas", 0),
            status.get("replicas", 0),
            status.get("readyReplicas", 0),
            age(obj, now),
            container_names(pod_spec),
            container_images(pod_spec),
            labels_text(spec.get("selector")),
        ]
