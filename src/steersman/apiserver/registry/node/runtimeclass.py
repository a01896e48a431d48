"""RuntimeClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery import field, names
from steersman.apimachinery.field import Path
from steersman.apimachinery.metadata_validation import validate_labels
from steersman.apiserver.registry import columns
from steersman.apiserver.registry.podspec.rules import TEMPLATE_RULES
from steersman.apiserver.registry.podspec.validate_placement import validate_tolerations
from steersman.apiserver.registry.podspec.validate_resources import validate_requirements
from steersman.apiserver.registry.storage.labels import label_warning
from steersman.apiserver.registry.strategy import Column, Strategy, Tree
from steersman.apiserver.registry.validation import check_all, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.request import RequestContext


class RuntimeClassStrategy(Strategy):
    """No defaults; a change needs the resourceVersion it is based on."""

    group_resource = "runtimeclasses.node.k8s.io"
    allow_unconditional_update = False
    metadata_checks_on_update = (1, 1)
    columns = (columns.NAME_COLUMN, Column("Handler"), columns.AGE_COLUMN)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return [*_validate(obj), *check_unchanged(obj.get("handler"), old.get("handler"), Path("handler"))]

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        scheduling = obj.get("scheduling") or {}
        warnings: list[str] = []
        for label in sorted(scheduling.get("nodeSelector") or ()):
            warnings += label_warning(label, f"scheduling.nodeSelector[{label}]")
        for position, toleration in enumerate(scheduling.get("tolerations") or ()):
            warnings += label_warning(toleration.get("key") or "", f"scheduling.tolerations[{position}].key")
        return warnings

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), obj.get("handler", ""), columns.age(obj, now)]


def _validate(obj: Tree) -> Iterator[FieldError]:
    handler = obj.get("handler") or ""
    yield from check_all(Path("handler"), handler, names.check_dns1123_label(handler))
    overhead = obj.get("overhead")
    if overhead is not None:
        limits = {"limits": overhead.get("podFixed") or {}}
        yield from validate_requirements(limits, Path("overhead"), (), TEMPLATE_RULES)
    scheduling, path = obj.get("scheduling") or {}, Path("scheduling")
    yield from validate_labels(scheduling.get("nodeSelector") or {}, path.child("nodeSelector"))
    tolerations = scheduling.get("tolerations") or []
    yield from validate_tolerations(tolerations, path.child("tolerations"))
    for position, toleration in enumerate(tolerations):
        if toleration in tolerations[:position]:
            yield field.duplicate(path.child("tolerations").index(position), toleration)
