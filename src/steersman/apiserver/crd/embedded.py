"""Embedded objects in custom objects (``x-kubernetes-embedded-resource``): type and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.field import Path
from steersman.apimachinery.metadata_validation import validate_object_meta
from steersman.schema.decoding import decode
from steersman.schema.loader import OBJECT_META, struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.crd.shape import Shape


#: Name under which an embedded object without a name is validated.
_SOME_NAME: Final = "fakename"


def type_embedded(shape: Shape, value: Any) -> None:
    """Coerce type and metadata of embedded objects as Go's types do. Raises DecodeError for values of the wrong type."""
    for place, embedded in _embedded(shape, value, None):
        for name in ("apiVersion", "kind"):
            if name in embedded and not isinstance(embedded[name], str):
                raise DecodeError(str(field.invalid(place.child(name), embedded[name], "must be a string")))
        if "metadata" not in embedded:
            continue
        try:
            metadata = embedded["metadata"]
            embedded["metadata"] = decode(struct(OBJECT_META), {} if metadata is None else metadata).tree
        except DecodeError as error:
            raise DecodeError(str(field.invalid(place.child("metadata"), embedded["metadata"], str(error)))) from None


def validate_embedded(shape: Shape, value: Any) -> Iterator[FieldError]:
    """Yield the errors of type and metadata of embedded objects."""
    for place, embedded in _embedded(shape, value, None):
        api_version, kind = embedded.get("apiVersion", ""), embedded.get("kind", "")
        for name, text in (("apiVersion", api_version), ("kind", kind)):
            if name not in embedded:
                yield field.required(place.child(name))
            elif not text:
                yield field.invalid(place.child(name), text, "must not be empty")
        if api_version.count("/") > 1:
            detail = f"unexpected GroupVersion string: {api_version}"
            yield field.invalid(place.child("apiVersion"), api_version, detail)
        if kind and (faults := names.check_dns1035_label(kind.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(faults)}"
            yield field.invalid(place.child("kind"), kind, detail)
        if "metadata" in embedded:
            metadata = {"name": _SOME_NAME, **embedded["metadata"]}
            yield from validate_object_meta(
                metadata,
                namespaced=bool(metadata.get("namespace")),
                name_rule=names.name_is_path_segment,
                path=place.child("metadata"),
            )


def _embedded(shape: Shape, value: Any, path: Path | None) -> Iterator[tuple[Path, Tree]]:
    """Yield the embedded objects in a value with their paths."""
    if not shape.has_embedded:
        return
    if isinstance(value, dict):
        if shape.is_embedded and path is not None:
            yield path, value
        for name, item in value.items():
            below = shape.properties.get(name, shape.others)
            if below is not None and below.has_embedded:
                yield from _embedded(below, item, path.child(name) if path is not None else Path(name))
    elif isinstance(value, list) and shape.items is not None and path is not None:
        for position, item in enumerate(value):
            yield from _embedded(shape.items, item, path.index(position))
