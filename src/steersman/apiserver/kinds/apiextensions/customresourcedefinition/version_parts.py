"""Validation of parts of a custom resource version: schema, subresources, printer columns, selectable fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.cel_rules import validate_rules
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.default_values import validate_defaults
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.field_paths import FieldPathError, follow
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.openapi_schema import validate_schema
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.schema_form import schema_form, set_fields
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.structural import (
    check_convertible,
    validate_structural,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_SELECTABLE_MAX: Final = 8

#: Keywords allowed at the root of a schema with the status subresource, by Go's names.
_AT_ROOT: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems "
    "MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
)
_NAMES_AT_ROOT: Final = frozenset(_AT_ROOT.split())


def has_status(subresources: Tree | None) -> bool:
    """Report whether the status subresource is enabled."""
    return (subresources or {}).get("status") is not None


def validate_schema_part(part: Tree | None, path: Path, *, has_status: bool) -> Iterator[FieldError]:
    """Validate ``schema.openAPIV3Schema``."""
    schema = (part or {}).get("openAPIV3Schema")
    if schema is None:
        return
    schema_path = path.child("openAPIV3Schema")
    # most faults that prevent the conversion are also faults of the schema, which are reported instead
    fault = check_convertible(schema)
    structural_errors = [] if fault else list(_validate_structure(schema, schema_path))
    schema_errors = list(validate_schema(schema, schema_path))
    errors = [*(_validate_root(schema, schema_path) if has_status else ()), *_validate_null(schema, path)]
    errors += structural_errors + schema_errors
    yield from errors
    if fault:
        if not errors:
            yield field.invalid(schema_path, "", fault)
    elif not structural_errors:
        yield from validate_rules(schema, schema_path, schema_errors)


def _validate_root(schema: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the root keywords of a schema with the status subresource, which is split from it for status writes.

    As upstream, only the first fault in the order of Go's fields is reported.
    """
    condition = "if the status subresource is enabled"
    for name in set_fields(schema):
        if name == "Type" and schema["type"] != "object":
            detail = f'only "object" is allowed as the type at the root of the schema {condition}'
            yield field.invalid(path.child("type"), schema["type"], detail)
            return
        if name not in _NAMES_AT_ROOT:
            detail = f"only [{_AT_ROOT}] fields are allowed at the root of the schema {condition}"
            yield field.invalid(path, schema_form(schema), detail)
            return


def _validate_null(schema: Tree, path: Path) -> Iterator[FieldError]:
    if schema.get("nullable"):
        yield field.forbidden(path.child("openAPIV3Schema", "nullable"), "nullable cannot be true at the root")


def _validate_structure(schema: Tree, path: Path) -> Iterator[FieldError]:
    faults = validate_structural(schema, path)
    yield from faults or validate_defaults(schema, path)


def validate_subresources(subresources: Tree | None, path: Path) -> Iterator[FieldError]:
    """Validate subresources: the paths of ``scale``."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for name, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        value, field_path = scale.get(name) or "", path.child("scale", name)
        if not value:
            yield field.required(field_path)
            continue
        yield from _validate_path(value, field_path)
        if value.startswith(".") and not value.startswith(f"{root}."):
            yield field.invalid(field_path, value, f"should be a json path under {root}")
    value, field_path = scale.get("labelSelectorPath") or "", path.child("scale", "labelSelectorPath")
    if value:
        yield from _validate_path(value, field_path)
        if value.startswith(".") and not value.startswith((".spec.", ".status.")):
            yield field.invalid(field_path, value, "should be a json path under either .spec or .status")


def validate_columns(columns: Sequence[Tree], path: Path) -> Iterator[FieldError]:
    """Validate additional printer columns."""
    for position, column in enumerate(columns):
        item_path = path.index(position)
        if not column.get("name"):
            yield field.required(item_path.child("name"))
        type_, types = column.get("type") or "", f"must be one of {','.join(_COLUMN_TYPES)}"
        if not type_:
            yield field.required(item_path.child("type"), types)
        elif type_ not in _COLUMN_TYPES:
            yield field.invalid(item_path.child("type"), type_, types)
        format_ = column.get("format")
        if format_ and format_ not in _COLUMN_FORMATS:
            yield field.invalid(item_path.child("format"), format_, f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not column.get("jsonPath"):
            yield field.required(item_path.child("JSONPath"))
        else:
            yield from _validate_path(column["jsonPath"], item_path.child("JSONPath"))


def _validate_path(value: str, path: Path) -> Iterator[FieldError]:
    if not value.startswith("."):
        yield field.invalid(path, value, "must be a simple json path starting with .")


def validate_selectable_fields(
    fields: Sequence[Tree], schema: Tree | None, path: Path, *, if_no_schema: str
) -> Iterator[FieldError]:
    """Validate selectable fields. ``if_no_schema``: the error for a version without a schema."""
    if schema is None:
        yield field.invalid(path, "", if_no_schema)
        return
    plain_paths: set[str] = set()
    for position, selectable in enumerate(fields):
        field_path, value = path.index(position).child("jsonPath"), selectable.get("jsonPath") or ""
        if not value:
            yield field.required(field_path)
            continue
        try:
            plain, root, target = follow(value, schema, allow_brackets=False)
        except FieldPathError as error:
            yield field.invalid(field_path, value, f"is an invalid path: {error}")
            continue
        if root == "metadata":
            yield field.invalid(field_path, value, "must not point to fields in metadata")
        if target.get("type") not in _SELECTABLE_TYPES:
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats "
                "are allowed."
            )
            yield field.invalid(field_path, value, detail)
        if plain in plain_paths:
            yield field.duplicate(field_path, value)
        plain_paths.add(plain)
    if len(plain_paths) > _SELECTABLE_MAX:
        yield field.too_many(path, len(plain_paths), max_items=_SELECTABLE_MAX)
