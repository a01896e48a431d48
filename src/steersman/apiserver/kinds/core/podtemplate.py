"""Strategy of PodTemplates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.field import Path
from steersman.apiserver.generic.columns import (
    CONTAINERS_TEXT,
    IMAGES_TEXT,
    NAME_COLUMN,
    container_images,
    container_names,
    labels_text,
    name_of,
)
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod_template
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_template
from steersman.apiserver.kinds.shared.template_warnings import workload_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_TEMPLATE: Final = Path("template")


class PodTemplateStrategy(Strategy):
    """Strategy of PodTemplates; generation follows the template."""

    group_resource = "podtemplates"
    returns_deleted_object = True
    has_generation = True
    reset_fields: ClassVar = {}
    columns = (
        NAME_COLUMN,
        Column("Containers", description=CONTAINERS_TEXT),
        Column("Images", description=IMAGES_TEXT),
        Column("Pod Labels", description="The labels for the pod template."),
    )

    def default(self, obj: Tree, version: str) -> None:
        default_pod_template(obj.setdefault("template", {}))

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        """Do nothing: there are no server-owned fields."""

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Do nothing: there are no server-owned fields."""

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_pod_template(obj["template"], _TEMPLATE, facts_for=ctx.facts_for))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return self.validate(ctx, obj)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return list(workload_warnings(obj, old, _TEMPLATE, with_name=False, facts_for=ctx.facts_for))

    def generation_view(self, obj: Tree) -> Any:
        return obj.get("template")

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        template = obj.get("template") or {}
        spec = template.get("spec")
        labels = (template.get("metadata") or {}).get("labels")
        return [name_of(obj), container_names(spec), container_images(spec), labels_text(labels)]
