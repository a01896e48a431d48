"""Validation functions shared by many kinds: they take a value and its path, and yield field errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.metadata_validation import validate_annotations, validate_labels
from steersman.apimachinery.trees import tree_key
from steersman.apiserver.kinds.shared.go_form import go_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
IS_NEGATIVE: Final = "must be greater than or equal to 0"
FIELD_IS_IMMUTABLE: Final = "field is immutable"
#: Metadata that the objects created from a template may not have, in the order of Go's struct.
_NOT_IN_TEMPLATES: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def check_all(path: Path, value: Any, faults: Iterable[str]) -> Iterator[FieldError]:
    """Yield one ``Invalid`` error per fault of a value."""
    for fault in faults:
        yield field.invalid(path, value, fault)


def check_supported(value: Any, supported: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Validate that a required value is one of the supported ones, which the message lists in this order."""
    if not value:
        yield field.required(path)
    elif value not in supported:
        yield field.not_supported(path, value, supported)


def check_one_of(value: Any, supported: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Validate that a value is one of the supported ones; none and an empty one are as unsupported as any other."""
    if value not in supported:
        yield field.not_supported(path, value or "", supported)


def repeat_positions(items: Iterable[Any]) -> frozenset[int]:
    """Return the positions of items that equal an earlier one. Items are JSON values of any type."""
    seen: set[Any] = set()
    repeats: list[int] = []
    for position, item in enumerate(items):
        key = item if item.__class__ is str else tree_key(item)
        if key in seen:
            repeats.append(position)
        seen.add(key)
    return frozenset(repeats)


def check_not_negative(value: int | None, path: Path) -> Iterator[FieldError]:
    """Reject a negative number."""
    if value is not None and value < 0:
        yield field.invalid(path, value, IS_NEGATIVE)


def check_unchanged(new: Any, old: Any, path: Path, *, go_type: str = "") -> Iterator[FieldError]:
    """Reject a change. Absent equals empty. ``go_type``: the message shows the value by ``go_form``."""
    if (new or None) != (old or None) and not (new in (0, False) and old in (0, False)):
        yield field.invalid(path, go_form(go_type, new) if go_type and new is not None else new, FIELD_IS_IMMUTABLE)


def validate_dns_label(value: str, path: Path) -> Iterator[FieldError]:
    """Validate a DNS label."""
    yield from check_all(path, value, names.check_dns1123_label(value))


def validate_dns_subdomain(value: str, path: Path) -> Iterator[FieldError]:
    """Validate a DNS subdomain."""
    yield from check_all(path, value, names.check_dns1123_subdomain(value))


def validate_qualified_name(value: str, path: Path) -> Iterator[FieldError]:
    """Validate a qualified name, for example ``example.com/name``."""
    yield from check_all(path, value, names.check_qualified_name(value))


def validate_port_number_or_name(value: int | str, path: Path) -> Iterator[FieldError]:
    """Validate a port number or the name of a container port."""
    if isinstance(value, str):
        yield from check_all(path, value, names.check_port_name(value))
    else:
        yield from check_all(path, value, names.check_port_number(value))


def validate_label_selector(
    selector: Tree | None, path: Path, *, allow_invalid_values: bool = False
) -> Iterator[FieldError]:
    """Validate a ``LabelSelector``. ``allow_invalid_values``: the old object has values that are no label values."""
    if selector is None:
        return
    yield from validate_labels(selector.get("matchLabels") or {}, path.child("matchLabels"))
    for position, requirement in enumerate(selector.get("matchExpressions") or ()):
        yield from validate_label_requirement(
            requirement, path.child("matchExpressions").index(position), allow_invalid_values=allow_invalid_values
        )


def validate_label_requirement(
    requirement: Tree, path: Path, *, allow_invalid_values: bool = False
) -> Iterator[FieldError]:
    """Validate a ``LabelSelectorRequirement``."""
    operator, values = requirement.get("operator"), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield field.required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield field.forbidden(
                path.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
    else:
        yield field.invalid(path.child("operator"), operator or "", "not a valid selector operator")
    key = requirement.get("key") or ""
    yield from check_all(path.child("key"), key, names.check_qualified_name(key))
    if not allow_invalid_values:
        for position, value in enumerate(values):
            yield from check_all(path.child("values").index(position), value, names.check_label_value(value))


def validate_template_object_meta(metadata: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the metadata of a template of claims, which may have labels and annotations only.

    Upstream: ``ValidateTemplateObjectMeta``.
    """
    yield from validate_annotations(metadata.get("annotations") or {}, path.child("annotations"))
    yield from validate_labels(metadata.get("labels") or {}, path.child("labels"))
    for name in _NOT_IN_TEMPLATES:
        value = metadata.get(name)
        if value or (name == "deletionGracePeriodSeconds" and value is not None):
            # upstream derives the path from the name of the Go field
            yield field.forbidden(path.child("uID" if name == "uid" else name), "cannot be set")
