"""Validation of ``metadata`` on create and update, common to all kinds.

Upstream: ``k8s.io/apimachinery/pkg/api/validation/objectmeta.go``.

The functions take the ``metadata`` tree; decoding has rejected wrong types before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.field import FieldError, Path
from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Errors = list[FieldError]
Metadata = dict[str, Any]

ANNOTATIONS_MAX_BYTES: Final = 256 * 1024
FIELD_MANAGER_MAX_BYTES: Final = 128
SUBRESOURCE_MAX_BYTES: Final = 256

#: The only finalizers without a domain.
STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})

_METADATA: Final = Path("metadata")
_FINALIZERS: Final = _METADATA.child("finalizers")
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
#: Immutable fields, with the value that represents absence.
_FIXED: Final = {
    "name": "",
    "namespace": "",
    "uid": "",
    "creationTimestamp": None,
    "deletionTimestamp": None,
    "deletionGracePeriodSeconds": None,
}


def _invalid(path: Path, value: Any, faults: Sequence[str]) -> Errors:
    return [field.invalid(path, value, fault) for fault in faults]


def validate_object_meta(
    metadata: Metadata,
    *,
    namespaced: bool,
    name_rule: names.NameRule,
    path: Path = _METADATA,
    with_managed_fields: bool = True,
) -> Errors:
    """Validate ``metadata`` without reference to an earlier state. Upstream: ``ValidateObjectMeta``.

    ``with_managed_fields`` is false if the server itself has written them.
    """
    errors: Errors = []
    generate_name = metadata.get("generateName")
    if generate_name:
        errors += _invalid(path.child("generateName"), generate_name, name_rule(generate_name, prefix=True))
    name = metadata.get("name")
    if not name:
        errors.append(field.required(path.child("name"), "name or generateName is required"))
    elif faults := name_rule(name):
        errors += _invalid(path.child("name"), name, faults)
    errors += _validate_namespace(metadata.get("namespace") or "", namespaced=namespaced, path=path)
    generation = metadata.get("generation") or 0
    if generation < 0:
        errors.append(field.invalid(path.child("generation"), generation, "must be greater than or equal to 0"))
    errors += _validate_loose_parts(metadata, path)
    if finalizers := metadata.get("finalizers"):
        errors += validate_finalizers(finalizers, path.child("finalizers"))
    if with_managed_fields and (managed_fields := metadata.get("managedFields")):
        errors += validate_managed_fields(managed_fields, path.child("managedFields"))
    return errors


def _validate_namespace(namespace: str, *, namespaced: bool, path: Path) -> Errors:
    """Validate the namespace; ``path`` is that of the metadata."""
    if not namespaced:
        return [field.forbidden(path.child("namespace"), "not allowed on this type")] if namespace else []
    if not namespace:
        return [field.required(path.child("namespace"))]
    faults = names.check_dns1123_label(namespace)
    return _invalid(path.child("namespace"), namespace, faults) if faults else []


def _validate_loose_parts(metadata: Metadata, path: Path) -> Errors:
    errors: Errors = []
    if labels := metadata.get("labels"):
        errors += validate_labels(labels, path.child("labels"))
    if annotations := metadata.get("annotations"):
        errors += validate_annotations(annotations, path.child("annotations"))
    if references := metadata.get("ownerReferences"):
        errors += validate_owner_references(references, path.child("ownerReferences"))
    return errors


def validate_object_meta_update(new: Metadata, old: Metadata) -> Errors:
    """Validate an update: immutable fields, and the mutable ones. Upstream: ``ValidateObjectMetaUpdate``."""
    errors: Errors = []
    if old.get("deletionTimestamp"):
        errors += _validate_no_new_finalizers(new, old, _METADATA.child("finalizers"))
    if not new.get("resourceVersion"):
        errors.append(field.invalid(_METADATA.child("resourceVersion"), "", "must be specified for an update"))
    generation = new.get("generation") or 0
    if generation < (old.get("generation") or 0):
        errors.append(field.invalid(_METADATA.child("generation"), generation, "must not be decremented"))
    for name, absent in _FIXED.items():
        errors += validate_immutable(_present(new, name, absent), _present(old, name, absent), _METADATA.child(name))
    errors += _validate_loose_parts(new, _METADATA)
    errors += validate_managed_fields(new.get("managedFields") or [], _METADATA.child("managedFields"))
    return errors


def _present(metadata: Metadata, name: str, absent: str | None) -> Any:
    value = metadata.get(name)
    return absent if value is None else value


def validate_immutable(new: Any, old: Any, path: Path) -> Errors:
    """Reject a changed value. Upstream: ``ValidateImmutableField``."""
    return [] if new == old else [field.invalid(path, new, "field is immutable")]


def _validate_no_new_finalizers(new: Metadata, old: Metadata, path: Path) -> Errors:
    added = set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())
    if not added:
        return []
    listed = ", ".join(map(quote, sorted(added)))
    return [
        field.forbidden(
            path,
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}",
        )
    ]


def validate_labels(labels: Mapping[str, str], path: Path) -> Errors:
    """Validate keys and values of labels."""
    errors: Errors = []
    for key, value in labels.items():
        if faults := names.check_qualified_name(key):
            errors += _invalid(path, key, faults)
        if faults := names.check_label_value(value):
            errors += _invalid(path, value, faults)
    return errors


def validate_annotations(annotations: Mapping[str, str], path: Path) -> Errors:
    """Validate annotation keys, ignoring case, and the total size."""
    errors: Errors = []
    size = 0
    for key, value in annotations.items():
        errors += _invalid(path, key, names.check_qualified_name(key.lower()))
        size += _size(key) + _size(value)
    if size > ANNOTATIONS_MAX_BYTES:
        errors.append(field.too_long(path, max_bytes=ANNOTATIONS_MAX_BYTES))
    return errors


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def validate_owner_references(references: Sequence[dict[str, Any]], path: Path) -> Errors:
    """Validate that each reference is complete, and that at most one is the controller."""
    errors: Errors = []
    controller = ""
    for reference in references:
        errors += _validate_owner_reference(reference, path)
        if not reference.get("controller"):
            continue
        owner = f"{reference.get('kind', '')}/{reference.get('name', '')}"
        if controller:
            detail = (
                'Only one reference can have Controller set to true. Found "true" in references for '
                f"{controller} and {owner}"
            )
            errors.append(field.invalid(path, [_in_order(shown) for shown in references], detail))
        else:
            controller = owner
    return errors


def _validate_owner_reference(reference: dict[str, Any], path: Path) -> Errors:
    errors: Errors = []
    api_version = reference.get("apiVersion") or ""
    kind = reference.get("kind") or ""
    if not api_version.rpartition("/")[2] or api_version.count("/") > 1:
        errors.append(field.invalid(path.child("apiVersion"), api_version, "version must not be empty"))
    for name in ("kind", "name", "uid"):
        if not reference.get(name):
            errors.append(field.invalid(path.child(name), "", "must not be empty"))
    if (api_version, kind) == ("v1", "Event"):
        detail = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(field.invalid(path, _in_order(reference), detail))
    return errors


def _in_order(reference: dict[str, Any]) -> dict[str, Any]:
    """Return the reference as printed in messages: fields in the type's order, required ones even if empty."""
    shown = {name: reference.get(name, "") for name in _OWNER_FIELDS[:4]}
    return shown | {name: reference[name] for name in _OWNER_FIELDS[4:] if reference.get(name) is not None}


def validate_finalizer_name(name: str, path: Path) -> Errors:
    """Validate a qualified name."""
    return _invalid(path, name, names.check_qualified_name(name))


def validate_finalizers(finalizers: Sequence[str], path: Path) -> Errors:
    """Validate finalizer names; ``orphan`` and ``foregroundDeletion`` exclude each other. Upstream: ``ValidateFinalizers``."""
    errors: Errors = []
    for name in finalizers:
        errors += validate_finalizer_name(name, path)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(field.invalid(path, list(finalizers), detail))
    return errors


def validate_standard_finalizers(finalizers: Sequence[str]) -> Errors:
    """Validate the stricter rule of built-in kinds: a domain, except for standard finalizers."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        field.invalid(_FINALIZERS.index(position), name, detail)
        for position, name in enumerate(finalizers)
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def validate_managed_fields(entries: Sequence[dict[str, Any]], path: Path) -> Errors:
    """Validate each entry's operation, type, manager and subresource."""
    errors: Errors = []
    for position, entry in enumerate(entries):
        entry_path = path.index(position)
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            errors.append(field.invalid(entry_path.child("operation"), operation, "must be `Apply` or `Update`"))
        fields_type = entry.get("fieldsType") or ""
        if fields_type not in ("", "FieldsV1"):
            errors.append(field.invalid(entry_path.child("fieldsType"), fields_type, "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager") or "", entry_path.child("manager"))
        if _size(entry.get("subresource") or "") > SUBRESOURCE_MAX_BYTES:
            errors.append(field.too_long(entry_path.child("subresource"), max_bytes=SUBRESOURCE_MAX_BYTES))
    return errors


def validate_field_manager(manager: str, path: Path) -> Errors:
    """Validate a field manager: short and printable."""
    errors: Errors = []
    if _size(manager) > FIELD_MANAGER_MAX_BYTES:
        errors.append(field.too_long(path, max_bytes=FIELD_MANAGER_MAX_BYTES))
    position = 0
    for char in manager:
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            errors.append(field.invalid(path, manager, detail))
        position += _size(char)
    return errors
