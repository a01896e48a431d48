"""Validation of PersistentVolumeClaim specs and claim templates. Upstream: ``ValidatePersistentVolumeClaimSpec``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.kinds.shared.validation import check_all, validate_dns_subdomain, validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
NOT_POSITIVE: Final = "must be greater than zero"


def check_access_modes(modes: Sequence[str] | None, path: Path) -> Iterator[FieldError]:
    """Validate access modes: only supported ones, ReadWriteOncePod not with others."""
    supported = [mode for mode in modes or () if mode in ACCESS_MODES]
    for mode in modes or ():
        if mode not in ACCESS_MODES:
            yield field.not_supported(path, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in supported and len(set(supported)) > 1:
        yield field.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def check_positive_quantity(amount: str, path: Path) -> Iterator[FieldError]:
    """Validate that a quantity is positive."""
    if parse(amount) <= Quantity(0):
        yield field.invalid(path, amount, NOT_POSITIVE)


def validate_claim_spec(
    spec: Tree, path: Path, *, allow_invalid_selector_values: bool = False, allow_invalid_groups: bool = False
) -> Iterator[FieldError]:
    """Validate the spec of a claim. Options keep values of the old object valid."""
    if not spec.get("accessModes"):
        yield field.required(path.child("accessModes"), "at least 1 access mode is required")
    yield from validate_label_selector(
        spec.get("selector"), path.child("selector"), allow_invalid_values=allow_invalid_selector_values
    )
    yield from check_access_modes(spec.get("accessModes"), path.child("accessModes"))
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    size_path = path.child("resources").key("storage")
    if size is None:
        yield field.required(size_path)
    else:
        yield from check_positive_quantity(size, size_path)
    if name := spec.get("storageClassName"):
        yield from validate_dns_subdomain(name, path.child("storageClassName"))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield field.not_supported(path.child("volumeMode"), mode, VOLUME_MODES)
    yield from _validate_data_sources(spec, path, allow_invalid_groups=allow_invalid_groups)
    if name := spec.get("volumeAttributesClassName"):
        yield from validate_dns_subdomain(name, path.child("volumeAttributesClassName"))


def _validate_data_sources(spec: Tree, path: Path, *, allow_invalid_groups: bool) -> Iterator[FieldError]:
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    for name in ("dataSource", "dataSourceRef"):
        if (reference := spec.get(name)) is not None:
            yield from _validate_data_source(reference, path.child(name), allow_invalid_groups=allow_invalid_groups)
    namespace = (ref or {}).get("namespace")
    if namespace:
        yield from check_all(path.child("dataSourceRef", "namespace"), namespace, names.check_dns1123_label(namespace))
    if source is None or ref is None:
        return
    shown: Tree = {}  # upstream passes the path as value, which prints as an empty struct
    if namespace:
        yield field.invalid(path, shown, "may not be specified when dataSourceRef.namespace is specified")
    elif source.get("apiGroup") != ref.get("apiGroup") or any(
        (source.get(key) or "") != (ref.get(key) or "") for key in ("kind", "name")
    ):
        yield field.invalid(path, shown, "must match dataSourceRef")


def _validate_data_source(source: Tree, path: Path, *, allow_invalid_groups: bool) -> Iterator[FieldError]:
    for name in ("name", "kind"):
        if not source.get(name):
            yield field.required(path.child(name))
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if not group and kind != "PersistentVolumeClaim":
        yield field.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    if group and not allow_invalid_groups:
        yield from validate_dns_subdomain(group, path.child("apiGroup"))
