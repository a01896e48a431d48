"""Validation of typed object references of Ingresses and IngressClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.validation import check_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree


def validate_local_reference(reference: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a reference to an object of the same namespace, in any API group."""
    group = reference.get("apiGroup")
    if group is not None:
        yield from check_all(path.child("apiGroup"), group, names.check_dns1123_subdomain(group))
    for name in ("kind", "name"):
        yield from require_path_segment(reference.get(name) or "", path.child(name))


def require_path_segment(value: str, path: Path) -> Iterator[FieldError]:
    """Validate a required name that is a URL path segment."""
    if not value:
        yield field.required(path)
    else:
        yield from check_all(path, value, names.check_path_segment(value))
