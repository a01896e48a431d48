"""Strategy of DaemonSets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.field import Path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.apps.daemonset import validation
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod_template
from steersman.apiserver.kinds.shared.podspec.warnings import template_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

#: Annotation with the template generation, which was a field of ``extensions/v1beta1``.
_TEMPLATE: Final = Path("spec", "template")
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


class DaemonSetStrategy(Strategy):
    """Strategy of DaemonSets; maintains the template generation besides ``metadata.generation``."""

    group_resource = "daemonsets.apps"
    has_generation = True
    columns = (
        columns.NAME_COLUMN,
        Column("Desired", type="integer", field="apps.v1.DaemonSetStatus.desiredNumberScheduled"),
        Column("Current", type="integer", field="apps.v1.DaemonSetStatus.currentNumberScheduled"),
        Column("Ready", type="integer", field="apps.v1.DaemonSetStatus.numberReady"),
        Column("Up-to-date", type="integer", field="apps.v1.DaemonSetStatus.updatedNumberScheduled"),
        Column("Available", type="integer", field="apps.v1.DaemonSetStatus.numberAvailable"),
        Column("Node Selector", field="core.v1.PodSpec.nodeSelector"),
        columns.AGE_COLUMN,
        Column("Containers", priority=1, description=columns.CONTAINERS_TEXT),
        Column("Images", priority=1, description=columns.IMAGES_TEXT),
        Column("Selector", priority=1, field="apps.v1.DaemonSetSpec.selector"),
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10
        # visible on every object, so that its writer owns the field
        metadata = obj.setdefault("metadata", {})
        if metadata.get("annotations") is None:
            metadata["annotations"] = {}
        metadata["annotations"].setdefault(TEMPLATE_GENERATION, "0")

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        super().prepare_for_create(ctx, obj)
        _set_template_generation(obj, max(1, _template_generation(obj)))

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_update(ctx, obj, old)
        generation = _template_generation(old)
        if obj["spec"].get("template") != old["spec"].get("template"):
            generation += 1
        _set_template_generation(obj, generation)

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Keep the template generation, which is a field of the spec upstream."""
        super().prepare_for_status_update(ctx, obj, old)
        _set_template_generation(obj, _template_generation(old))

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validation.validate_daemon_set(obj, facts_for=ctx.facts_for))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validation.validate_daemon_set_update(obj, old, facts_for=ctx.facts_for))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validation.validate_daemon_set_status(obj, old))

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        if old is not None and _template_generation(obj) == _template_generation(old):
            return ()
        return list(template_warnings(obj["spec"].get("template") or {}, _TEMPLATE, facts_for=ctx.facts_for))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        template = (spec.get("template") or {}).get("spec") or {}
        return [
            columns.name_of(obj),
            status.get("desiredNumberScheduled", 0),
            status.get("currentNumberScheduled", 0),
            status.get("numberReady", 0),
            status.get("updatedNumberScheduled", 0),
            status.get("numberAvailable", 0),
            columns.labels_text(template.get("nodeSelector")),
            columns.age(obj, now),
            columns.container_names(template),
            columns.container_images(template),
            columns.selector_text(spec.get("selector")),
        ]


def _template_generation(obj: Tree) -> int:
    """Parse the annotation as Go's ``ParseInt``; 0 if invalid."""
    text = (obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdigit() else 0


def _set_template_generation(obj: Tree, generation: int) -> None:
    obj["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(generation)
