"""Validation of PersistentVolumeClaims. The spec's rules are in ``kinds/shared/podspec/validate_claims.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.kinds.core.shared.storage_class import CLASS_ANNOTATION
from steersman.apiserver.kinds.shared.go_form import go_diff
from steersman.apiserver.kinds.shared.podspec.resource_names import is_native
from steersman.apiserver.kinds.shared.podspec.validate_claims import validate_claim_spec
from steersman.apiserver.kinds.shared.validation import (
    FIELD_IS_IMMUTABLE,
    check_all,
    check_unchanged,
    validate_label_selector,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_RESIZES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def validate_claim(obj: Tree, old: Tree | None = None) -> list[FieldError]:
    """Validate a PersistentVolumeClaim. Upstream: ``ValidatePersistentVolumeClaim``."""
    before = (old or {}).get("spec") or {}
    return list(
        validate_claim_spec(
            obj["spec"],
            _SPEC,
            allow_invalid_selector_values=any(validate_label_selector(before.get("selector"), _SPEC)),
            allow_invalid_groups=any(
                (before.get(name) or {}).get("apiGroup") for name in ("dataSource", "dataSourceRef")
            ),
        )
    )


def validate_claim_update(obj: Tree, old: Tree) -> list[FieldError]:
    """Validate an update: the spec is immutable, except that the storage request of a bound claim may grow."""
    errors = validate_claim(obj, old)
    spec, before = obj["spec"], old["spec"]
    is_bound = (obj.get("status") or {}).get("phase") == "Bound"
    annotations, annotations_before = (o["metadata"].get("annotations") or {} for o in (obj, old))
    class_before, class_now = before.get("storageClassName"), spec.get("storageClassName")
    masked = dict(spec)
    if not before.get("volumeName"):
        masked.pop("volumeName", None)
    annotated = annotations_before.get(CLASS_ANNOTATION)
    upgrades = annotated is not None and class_before is None and class_now == annotated
    if upgrades and annotations.get(CLASS_ANNOTATION, annotated) == annotated:
        masked.pop("storageClassName", None)
    else:
        if annotations.get(CLASS_ANNOTATION) != annotated:
            path = field.Path("metadata", "annotations", CLASS_ANNOTATION)
            errors.append(field.invalid(path, annotations.get(CLASS_ANNOTATION) or "", FIELD_IS_IMMUTABLE))
        if class_before is None and class_now is not None and annotated in (None, class_now):
            masked.pop("storageClassName", None)
    if is_bound:
        masked["resources"] = _with_storage_of(masked.get("resources"), before.get("resources"))
        masked["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
    if _without_nulls(masked) != _without_nulls(before):
        detail = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
            f"{go_diff('PersistentVolumeClaimSpec', before, masked)}"
        )
        errors.append(field.forbidden(_SPEC, detail))
    errors += _validate_shrink(spec, old)
    errors += check_unchanged(spec.get("volumeMode"), before.get("volumeMode"), field.Path("volumeMode"))
    return errors + list(_validate_attributes_class(spec, old))


def _without_nulls(spec: Tree) -> Tree:
    return {key: value for key, value in spec.items() if value is not None}


def _with_storage_of(resources: Tree | None, before: Tree | None) -> Tree | None:
    requests = (resources or {}).get("requests")
    if not requests:
        return resources
    size = ((before or {}).get("requests") or {}).get("storage", "0")
    return {**(resources or {}), "requests": {**requests, "storage": size}}


def _size(resources: Tree | None) -> Quantity:
    return parse(((resources or {}).get("requests") or {}).get("storage", "0"))


def _validate_shrink(spec: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate a change of the storage request: it may shrink only to above the current capacity (KEP-1790)."""
    new = _size(spec.get("resources"))
    actual = parse(((old.get("status") or {}).get("capacity") or {}).get("storage", "0"))
    if new < _size(old["spec"].get("resources")) and new <= actual:
        path = _SPEC.child("resources", "requests", "storage")
        yield field.forbidden(path, "field can not be less than status.capacity")


def _validate_attributes_class(spec: Tree, old: Tree) -> Iterator[FieldError]:
    """Reject the removal of the class once a class is applied."""
    name = spec.get("volumeAttributesClassName")
    if name == old["spec"].get("volumeAttributesClassName"):
        return
    if not name and (old.get("status") or {}).get("currentVolumeAttributesClassName") is not None:
        value = "nil" if name is None else "empty string"
        detail = f"update to {value} is forbidden when status.currentVolumeAttributesClassName is not nil"
        yield field.forbidden(_SPEC.child("volumeAttributesClassName"), detail)


def validate_claim_status(obj: Tree) -> list[FieldError]:
    """Validate the status of a PersistentVolumeClaim."""
    status = obj.get("status") or {}
    errors = list(_validate_amounts(status.get("capacity") or {}, field.Path("status", "capacity")))
    path = field.Path("status", "allocatedResourceStatuses")
    for name, state in sorted((status.get("allocatedResourceStatuses") or {}).items()):
        errors += _validate_resource_name(name, path)
        if state not in _RESIZES:
            errors.append(field.not_supported(path, name, _RESIZES))
    path = field.Path("status", "allocatedResources")
    for name, amount in sorted((status.get("allocatedResources") or {}).items()):
        errors += list(_validate_resource_name(name, path)) or _validate_amounts({name: amount}, path)
    return errors


def _validate_amounts(amounts: Tree, path: Path) -> Iterator[FieldError]:
    for name, amount in sorted(amounts.items()):
        if int(parse(amount)) < 0:
            yield field.invalid(path.key(name), int(parse(amount)), "must be a valid resource quantity")


def _validate_resource_name(name: str, path: Path) -> Iterator[FieldError]:
    """Validate a resource name of the status; ``storage`` is the only one without a domain."""
    faults = names.check_qualified_name(name)
    yield from check_all(path, name, faults)
    if not faults and is_native(name) and name != "storage":
        yield field.not_supported(path, name, ("storage",))
