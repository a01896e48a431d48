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
    from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape


#: Name under which an embedded object without a name is validated.
_SOME_NAME: Final = "fakename"


def type_embedded(shape: Shape, value: Any) -> None:
    """Coerce type and metadata of embedded objects as Go's types do. Raises DecodeError for values of the wrong type."""
    error = coerce_embedded(shape, value)
    if error is not None:
        raise DecodeError(str(error))


def coerce_embedded(shape: Shape, value: Any, path: Path | None = None, *, is_root: bool = False) -> FieldError | None:
    """Coerce type and metadata of embedded objects in place; return the first value of the wrong type.

    ``path`` is that of the value, which is an embedded object itself if ``is_root``.

    Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/algorithm.go.
    """
    for place, embedded in _embedded(shape, value, path, is_root=is_root):
        for name in ("apiVersion", "kind"):
            if name in embedded and not isinstance(embedded[name], str):
                return field.invalid(_child(place, name), embedded[name], "must be a string")
        if "metadata" not in embedded:
            continue
        metadata = embedded["metadata"]
        try:
            embedded["metadata"] = decode(struct(OBJECT_META), {} if metadata is None else metadata).tree
        except DecodeError as error:
            return field.invalid(_child(place, "metadata"), metadata, str(error))
    return None


def validate_embedded(
    shape: Shape, value: Any, path: Path | None = None, *, is_root: bool = False
) -> Iterator[FieldError]:
    """Yield the errors of type and metadata of embedded objects.

    ``path`` is that of the value, which is an embedded object itself if ``is_root``.

    Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go.
    """
    for place, embedded in _embedded(shape, value, path, is_root=is_root):
        api_version, kind = embedded.get("apiVersion", ""), embedded.get("kind", "")
        for name, text in (("apiVersion", api_version), ("kind", kind)):
            if name not in embedded:
                yield field.required(_child(place, name))
            elif not text:
                yield field.invalid(_child(place, name), text, "must not be empty")
        if api_version.count("/") > 1:
            detail = f"unexpected GroupVersion string: {api_version}"
            yield field.invalid(_child(place, "apiVersion"), api_version, detail)
        if kind and (faults := names.check_dns1035_label(kind.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(faults)}"
            yield field.invalid(_child(place, "kind"), kind, detail)
        if "metadata" in embedded:
            metadata = {"name": _SOME_NAME, **embedded["metadata"]}
            yield from validate_object_meta(
                metadata,
                namespaced=bool(metadata.get("namespace")),
                name_rule=names.name_is_path_segment,
                path=_child(place, "metadata"),
            )


def _embedded(shape: Shape, value: Any, path: Path | None, *, is_root: bool) -> Iterator[tuple[Path | None, Tree]]:
    """Yield the embedded objects in a value with their paths; the value itself only if ``is_root``."""
    if not (is_root or shape.has_embedded):
        return
    if isinstance(value, dict):
        if is_root:
            yield path, value
        for name, item in value.items():
            is_specified = name in shape.properties
            below = shape.properties.get(name, shape.others)
            if below is not None and below.has_embedded:
                place = _child(path, name) if is_specified or path is None else path.key(name)
                yield from _embedded(below, item, place, is_root=below.is_embedded)
    elif isinstance(value, list) and path is not None and (below := shape.items) is not None and below.has_embedded:
        for position, item in enumerate(value):
            yield from _embedded(below, item, path.index(position), is_root=below.is_embedded)


def _child(path: Path | None, name: str) -> Path:
    return Path(name) if path is None else path.child(name)
