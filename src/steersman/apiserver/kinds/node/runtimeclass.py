"""Strategy of RuntimeClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery import field, names
from steersman.apimachinery.field import Path
from steersman.apimachinery.metadata_validation import validate_labels
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.deprecated_labels import label_warning
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES
from steersman.apiserver.kinds.shared.podspec.validate_placement import validate_tolerations
from steersman.apiserver.kinds.shared.podspec.validate_resources import validate_requirements
from steersman.apiserver.kinds.shared.validation import check_all, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class RuntimeClassStrategy(Strategy):
    """Strategy of RuntimeClasses. Updates require a resourceVersion; those of a missing object create it."""

    group_resource = "runtimeclasses.node.k8s.io"
    allow_create_on_update = True
    allow_unconditional_update = False
    metadata_checks_on_update = (1, 1)
    columns = (columns.NAME_COLUMN, Column("Handler"), columns.AGE_COLUMN)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return [*_validate(obj), *check_unchanged(obj.get("handler"), old.get("handler"), Path("handler"))]

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        labels = sorted((obj.get("scheduling") or {}).get("nodeSelector") or ())
        return [warning for label in labels for warning in label_warning(label, "scheduling.nodeSelector")]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        return [columns.name_of(obj), obj.get("handler", ""), columns.age(obj, now)]


def _validate(obj: Tree) -> Iterator[FieldError]:
    handler = obj.get("handler") or ""
    yield from check_all(Path("handler"), handler, names.check_dns1123_label(handler))
    overhead = obj.get("overhead")
    if overhead is not None:
        limits = {"limits": overhead.get("podFixed") or {}}
        yield from validate_requirements(limits, Path("overhead"), frozenset(), TEMPLATE_RULES)
    scheduling, path = obj.get("scheduling") or {}, Path("scheduling")
    yield from validate_labels(scheduling.get("nodeSelector") or {}, path.child("nodeSelector"))
    yield from _validate_tolerations(scheduling.get("tolerations") or (), path.child("tolerations"))


def _validate_tolerations(tolerations: Sequence[Tree], path: Path) -> Iterator[FieldError]:
    """Reject tolerations that differ only in ``tolerationSeconds``. As upstream, paths contain the field name twice."""
    yield from validate_tolerations(tolerations, path.child("tolerations"))
    seen: set[tuple[str, ...]] = set()
    for position, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))
        if key in seen:
            yield field.duplicate(path.index(position), go_form("Toleration", toleration))
        seen.add(key)
