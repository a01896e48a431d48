"""Validation of CustomResourceDefinitions.

Upstream validates the internal version, where fields that all versions share are top-level fields: errors of a schema
common to all versions (or of the only one) are reported at ``spec.validation``, and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery import field, names
from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.approval import (
    ANNOTATION,
    Approval,
    annotation_of,
    approval_of,
    is_protected,
)
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.conversion import (
    Strictness,
    strictness_for,
    validate_conversion,
)
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.default_values import has_defaults
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.schema_form import schema_form
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.version_parts import (
    has_status,
    validate_columns,
    validate_schema_part,
    validate_selectable_fields,
    validate_subresources,
)
from steersman.apiserver.kinds.shared.conditions import has_condition
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.validation import check_supported, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_SPEC: Final = Path("spec")
_STORED: Final = Path("status", "storedVersions")
_SCOPES: Final = ("Cluster", "Namespaced")
_PARTS: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_WARNING_MAX: Final = 256


class _Form(NamedTuple):
    """Versions in the internal form."""

    #: Fields common to all versions, by name.
    common: Tree
    #: Versions without common fields.
    versions: list[Tree]
    #: The definition has no list of versions, not even an empty one.
    is_absent: bool


def definition_name_rule(obj: Tree) -> names.NameRule:
    """Return the name rule of a new definition: ``<plural>.<group>``, a DNS subdomain."""
    expected = f"{_spec_names(obj).get('plural', '')}.{obj['spec'].get('group', '')}"

    def rule(name: str, /, *, prefix: bool = False) -> Sequence[str]:
        faults = names.name_is_dns_subdomain(name, prefix=prefix)
        return faults if name == expected else [*faults, 'must be spec.names.plural+"."+spec.group']

    return rule


def validate_definition(obj: Tree) -> Iterator[FieldError]:
    """Validate a new definition."""
    spec = obj["spec"]
    yield from _validate_spec(spec, Strictness())
    yield from validate_definition_status(obj)
    yield from _validate_stored_versions(obj)
    yield from _validate_approval(obj, None)
    yield from _validate_preserve_unknown_fields(spec, None)


def validate_definition_update(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update of a definition."""
    spec, before = obj["spec"], old["spec"]
    is_established = has_condition(old.get("status"), "Established")
    yield from _validate_spec(spec, strictness_for(before.get("conversion"), is_established=is_established))
    if is_established:
        yield from check_unchanged(spec.get("scope"), before.get("scope"), _SPEC.child("scope"))
        yield from check_unchanged(
            _spec_names(obj).get("kind"), _spec_names(old).get("kind"), _SPEC.child("names", "kind")
        )
    yield from check_unchanged(spec.get("group"), before.get("group"), _SPEC.child("group"))
    yield from check_unchanged(
        _spec_names(obj).get("plural"), _spec_names(old).get("plural"), _SPEC.child("names", "plural")
    )
    yield from validate_definition_status(obj)
    yield from _validate_stored_versions(obj)
    yield from _validate_approval(obj, old)
    yield from _validate_preserve_unknown_fields(spec, before)


def validate_definition_status(obj: Tree) -> Iterator[FieldError]:
    """Validate the status: accepted names and stored versions."""
    accepted = (obj.get("status") or {}).get("acceptedNames") or {}
    yield from _validate_names(accepted, Path("status", "acceptedNames"))


def _spec_names(obj: Tree) -> Tree:
    spec_names: Tree = obj["spec"].get("names") or {}
    return spec_names


def _internal_form(listed: list[Tree] | None) -> _Form:
    versions = listed or []
    common = {}
    for part in _PARTS if versions else ():
        values = [version.get(part) for version in versions]
        if all(value == values[0] for value in values):
            common[part] = values[0]
    if "schema" not in common:
        common.pop("selectableFields", None)
    own_parts = [{key: value for key, value in v.items() if key not in common} for v in versions]
    return _Form(common, own_parts, listed is None)


def _validate_spec(spec: Tree, strictness: Strictness) -> Iterator[FieldError]:
    form = _internal_form(spec.get("versions"))
    yield from _validate_group(spec.get("group") or "", _SPEC.child("group"))
    yield from check_supported(spec.get("scope"), _SCOPES, _SPEC.child("scope"))
    if _schema_of(form.common) is None:
        for position, version in enumerate(form.versions):
            if _schema_of(version) is None:
                yield field.required(_SPEC.child("versions").index(position).child("schema", "openAPIV3Schema"))
    if spec.get("preserveUnknownFields") and any(
        has_defaults(_schema_of(part)) for part in (form.common, *form.versions)
    ):
        detail = "must be false in order to use defaults in the schema"
        yield field.invalid(_SPEC.child("preserveUnknownFields"), True, detail)
    yield from _validate_versions(form, _SPEC.child("versions"))
    spec_names = spec.get("names") or {}
    for name in ("plural", "singular", "kind", "listKind"):
        if not spec_names.get(name):
            yield field.required(_SPEC.child("names", name))
    yield from _validate_names(spec_names, _SPEC.child("names"))
    yield from _validate_common(form)
    yield from validate_conversion(spec, _SPEC.child("conversion"), strictness)


def _schema_of(version: Tree) -> Tree | None:
    schema: Tree | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _validate_group(group: str, path: Path) -> Iterator[FieldError]:
    faults = names.check_dns1123_subdomain(group)
    if not group:
        yield field.required(path)
    elif faults:
        yield field.invalid(path, group, ",".join(faults))
    elif "." not in group:
        yield field.invalid(path, group, "should be a domain with at least one dot")


def _validate_versions(form: _Form, path: Path) -> Iterator[FieldError]:
    shared_status = has_status(form.common.get("subresources"))
    for position, version in enumerate(form.versions):
        item_path = path.index(position)
        if faults := names.check_dns1035_label(version.get("name") or ""):
            yield field.invalid(item_path.child("name"), version.get("name", ""), ",".join(faults))
        yield from _validate_warning(version, item_path.child("deprecationWarning"))
        own = version.get("subresources")
        status = shared_status or has_status(own)
        yield from validate_schema_part(version.get("schema"), item_path.child("schema"), has_status=status)
        yield from validate_subresources(own, item_path.child("subresources"))
        yield from validate_columns(
            version.get("additionalPrinterColumns") or (), item_path.child("additionalPrinterColumns")
        )
        if selectable := version.get("selectableFields"):
            detail = "selectableFields may only be set when version.schema.openAPIV3Schema is not included"
            selectable_fields_path = item_path.child("selectableFields")
            yield from validate_selectable_fields(
                selectable, _schema_of(version), selectable_fields_path, if_no_schema=detail
            )
    version_names = [version.get("name", "") for version in form.versions]
    if len(set(version_names)) < len(version_names):
        yield field.invalid(path, _shown(form), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in form.versions) != 1:
        yield field.invalid(path, _shown(form), "must have exactly one version marked as storage version")
    if version_names and version_names[0] and (faults := names.check_dns1035_label(version_names[0])):
        yield field.invalid(_SPEC.child("version"), version_names[0], ",".join(faults))


def _shown(form: _Form) -> list[Tree] | None:
    if form.is_absent:
        return None
    shown: list[Tree] = go_form("CustomResourceDefinitionVersion", form.versions)
    for entry, version in zip(shown, form.versions, strict=True):
        if entry["Schema"] is not None:
            entry["Schema"] = {"OpenAPIV3Schema": schema_form(_schema_of(version))}
    return shown


def _validate_common(form: _Form) -> Iterator[FieldError]:
    common = form.common
    any_status = any(has_status(part.get("subresources")) for part in (common, *form.versions))
    yield from validate_schema_part(common.get("schema"), _SPEC.child("validation"), has_status=any_status)
    yield from validate_subresources(common.get("subresources"), _SPEC.child("subresources"))
    columns = common.get("additionalPrinterColumns") or ()
    yield from validate_columns(columns, _SPEC.child("additionalPrinterColumns"))
    if selectable := common.get("selectableFields"):
        detail = "selectableFields may only be set when validations.schema is included"
        selectable_fields_path = _SPEC.child("selectableFields")
        yield from validate_selectable_fields(
            selectable, _schema_of(common), selectable_fields_path, if_no_schema=detail
        )


def _validate_warning(version: Tree, path: Path) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield field.invalid(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _WARNING_MAX:
        yield field.invalid(path, warning, f"must be <= {_WARNING_MAX} characters long")
    if not warning:
        yield field.invalid(path, warning, "must not be an empty string")
    for position, char in enumerate(warning):
        if not char.isprintable():
            at = len(warning[:position].encode())
            detail = f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            yield field.invalid(path, warning, detail)
            break


def _validate_names(spec_names: Tree, path: Path) -> Iterator[FieldError]:
    for name in ("plural", "singular"):
        value = spec_names.get(name)
        if value and (faults := names.check_dns1035_label(value)):
            yield field.invalid(path.child(name), value, ",".join(faults))
    for name in ("kind", "listKind"):
        value = spec_names.get(name)
        if value and (faults := names.check_dns1035_label(value.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(faults)}"
            yield field.invalid(path.child(name), value, detail)
    for position, name in enumerate(spec_names.get("shortNames") or ()):
        if faults := names.check_dns1035_label(name):
            yield field.invalid(path.child("shortNames").index(position), name, ",".join(faults))
    if spec_names.get("kind") and spec_names["kind"] == spec_names.get("listKind"):
        yield field.invalid(path.child("listKind"), spec_names["listKind"], "kind and listKind may not be the same")
    for position, name in enumerate(spec_names.get("categories") or ()):
        if faults := names.check_dns1035_label(name):
            yield field.invalid(path.child("categories").index(position), name, ",".join(faults))


def _validate_stored_versions(obj: Tree) -> Iterator[FieldError]:
    """Validate ``status.storedVersions``: each must remain in the spec, as stored objects may have it."""
    stored = (obj.get("status") or {}).get("storedVersions")
    if not stored:
        yield field.invalid(_STORED, stored, "must have at least one stored version")
        return
    versions = obj["spec"].get("versions") or ()
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            yield field.invalid(_STORED, stored, f"must have the storage version {version.get('name', '')}")
    version_names = {version.get("name", "") for version in versions}
    for name, position in {name: position for position, name in enumerate(stored)}.items():
        if name not in version_names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield field.invalid(_STORED.index(position), name, detail)


def _validate_approval(obj: Tree, old: Tree | None) -> Iterator[FieldError]:
    """Validate API approval of protected groups; unchanged violations are accepted."""
    if not is_protected(obj):
        return
    approval, detail = approval_of(obj)
    if old is not None and approval_of(old)[0] is approval:
        return
    path = Path("metadata", "annotations").key(ANNOTATION)
    if approval is Approval.MISSING:
        yield field.required(path, detail)
    elif approval is Approval.INVALID:
        yield field.invalid(path, annotation_of(obj), detail)


def _validate_preserve_unknown_fields(spec: Tree, before: Tree | None) -> Iterator[FieldError]:
    if spec.get("preserveUnknownFields") and not (before or {}).get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield field.invalid(_SPEC.child("preserveUnknownFields"), True, detail)
