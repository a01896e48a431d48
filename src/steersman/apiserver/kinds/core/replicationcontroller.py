"""Strategy and validation of ReplicationControllers: the selector is a map; labels default to those of the template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import field
from steersman.apiserver.generic.columns import (
    AGE_COLUMN,
    CONTAINERS_TEXT,
    IMAGES_TEXT,
    NAME_COLUMN,
    age,
    container_images,
    container_names,
    labels_text,
    name_of,
)
from steersman.apiserver.generic.strategy import Column, ScalePaths, Strategy
from steersman.apiserver.kinds.shared.counts import ABOVE_REPLICAS, check_none_above
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod_template
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_template
from steersman.apiserver.kinds.shared.template_warnings import workload_warnings
from steersman.apiserver.kinds.shared.validation import check_not_negative
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext
    from steersman.apiserver.spec_facts import FactsFor

_SPEC: Final = field.Path("spec")
_COUNTS: Final = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


class ReplicationControllerStrategy(Strategy):
    """Strategy of ReplicationControllers. A deletion without propagation policy orphans Pods."""

    group_resource = "replicationcontrollers"
    metadata_checks_on_update = (1, 1)
    has_generation = True
    default_propagation = "orphan"
    scale = ScalePaths(selector=("spec", "selector"))
    field_labels: ClassVar = {"status.replicas": lambda obj: str((obj.get("status") or {}).get("replicas", 0))}
    columns = (
        NAME_COLUMN,
        Column("Desired", type="integer", field="core.v1.ReplicationControllerSpec.replicas"),
        Column("Current", type="integer", field="core.v1.ReplicationControllerStatus.replicas"),
        Column("Ready", type="integer", field="core.v1.ReplicationControllerStatus.readyReplicas"),
        AGE_COLUMN,
        Column("Containers", priority=1, description=CONTAINERS_TEXT),
        Column("Images", priority=1, description=IMAGES_TEXT),
        Column("Selector", priority=1, field="core.v1.ReplicationControllerSpec.selector"),
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

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate(obj, facts_for=ctx.facts_for))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(_validate(obj, facts_for=ctx.facts_for)) * 2  # upstream reports each error twice

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(_validate_status(obj))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(workload_warnings(obj, old, _SPEC.child("template"), facts_for=ctx.facts_for))

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


def _validate(obj: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    spec = obj["spec"]
    selector, template = spec.get("selector"), spec.get("template")
    yield from check_not_negative(spec.get("minReadySeconds"), _SPEC.child("minReadySeconds"))
    if not selector:
        yield field.required(_SPEC.child("selector"))
    yield from check_not_negative(spec.get("replicas"), _SPEC.child("replicas"))
    path = _SPEC.child("template")
    if template is None:
        yield field.required(path)
        return
    labels = (template.get("metadata") or {}).get("labels")
    if any((labels or {}).get(key) != value for key, value in (selector or {}).items()):
        yield field.invalid(path.child("metadata", "labels"), labels, "`selector` does not match template `labels`")
    yield from validate_pod_template(template, path, facts_for=facts_for)
    pod_spec = template.get("spec") or {}
    if pod_spec.get("restartPolicy") != "Always":
        yield field.not_supported(path.child("spec", "restartPolicy"), pod_spec.get("restartPolicy"), ("Always",))
    if pod_spec.get("activeDeadlineSeconds") is not None:
        detail = "activeDeadlineSeconds in ReplicationController is not Supported"
        yield field.forbidden(path.child("spec", "activeDeadlineSeconds"), detail)


def _validate_status(obj: Tree) -> Iterator[FieldError]:
    status = obj.get("status") or {}
    path = field.Path("status")
    for name in ("replicas", *_COUNTS, "observedGeneration"):
        yield from check_not_negative(status.get(name), path.child(name))
    yield from check_none_above(status, _COUNTS, path, limit="replicas", detail=ABOVE_REPLICAS)
    yield from check_none_above(
        status, ("availableReplicas",), path, limit="readyReplicas", detail="cannot be greater than readyReplicas"
    )
