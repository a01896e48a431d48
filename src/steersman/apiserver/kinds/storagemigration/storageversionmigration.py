"""Strategy of StorageVersionMigrations.

Upstream: pkg/registry/storagemigration/storagemigration/strategy.go, pkg/apis/storagemigration/validation/validation.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apimachinery.gotext import quote
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.shared.conditions import has_condition, validate_conditions
from steersman.apiserver.kinds.shared.status_writes import keep_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

_RESOURCE: Final = Path("spec", "resource", "resource")
_VERSION: Final = Path("status", "resourceVersion")
_CONDITIONS: Final = Path("status", "conditions")
_INTEGER: Final = re.compile(r"([+-]?)0*([0-9]+)")
_DIGITS_MAX: Final = 19
_INT64_END: Final = 1 << 63
_SUCCEEDED, _FAILED, _RUNNING = "Succeeded", "Failed", "Running"


class StorageVersionMigrationStrategy(Strategy):
    """Strategy of StorageVersionMigrations."""

    group_resource = "storageversionmigrations.storagemigration.k8s.io"
    allow_unconditional_update = False
    metadata_checks_on_update = (2, 1)
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}
    columns = (
        Column("Name", field="meta.v1.ObjectMeta.name"),
        Column("Resource", description="Fully qualified resource to migrate"),
    )

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        keep_metadata(obj, old)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate_spec(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        new, before = _resource(obj), _resource(old)
        errors = list(_validate_spec(obj))
        errors += [
            field.invalid(Path(name), new.get(name) or "", "field is immutable")
            for name in ("group", "resource")
            if (new.get(name) or "") != (before.get(name) or "")
        ]
        return errors

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(_validate_status(obj.get("status") or {}, old.get("status") or {}))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        resource = _resource(obj)
        name, group = resource.get("resource") or "", resource.get("group") or ""
        return [columns.name_of(obj), f"{name}.{group}" if group else name]


def _resource(obj: Tree) -> Tree:
    return (obj.get("spec") or {}).get("resource") or {}


def _validate_spec(obj: Tree) -> Iterator[FieldError]:
    if not _resource(obj).get("resource"):
        yield field.required(_RESOURCE, "resource is required")


def _validate_status(status: Tree, old: Tree) -> Iterator[FieldError]:
    version, before = status.get("resourceVersion") or "", old.get("resourceVersion") or ""
    if version:
        yield from _validate_version(version)
    yield from validate_conditions(status.get("conditions"), _CONDITIONS)
    if before and version != before:
        yield field.invalid(_VERSION, version, "cannot be updated")
    for text in _condition_faults(status, old):
        yield field.invalid(_CONDITIONS, status.get("conditions") or [], text)


def _validate_version(version: str) -> Iterator[FieldError]:
    match = _INTEGER.fullmatch(version)
    number = int(match[1] + match[2]) if match is not None and len(match[2]) <= _DIGITS_MAX else _INT64_END
    if not -_INT64_END <= number < _INT64_END:
        fault = "invalid syntax" if match is None else "value out of range"
        reason = f"strconv.ParseInt: parsing {quote(version)}: {fault}"
        yield field.invalid(_VERSION, version, f"failed to parse resource version {quote(version)}: {reason}")
    elif number < 0:
        yield field.invalid(_VERSION, number, "must be greater than or equal to 0")


def _condition_faults(status: Tree, old: Tree) -> Iterator[str]:
    is_succeeded, is_failed, is_running = (has_condition(status, type_) for type_ in (_SUCCEEDED, _FAILED, _RUNNING))
    if is_succeeded and is_failed:
        yield "Both success and failed conditions cannot be true at the same time"
    if is_succeeded and is_running:
        yield "Running condition cannot be true when success condition is true"
    if is_failed and is_running:
        yield "Running condition cannot be true when failed condition is true"
    if has_condition(old, _SUCCEEDED) and not is_succeeded:
        yield "Success condition cannot be set to false once it is true"
    if has_condition(old, _FAILED) and not is_failed:
        yield "Failed condition cannot be set to false once it is true"
