"""Validation of provisioners and parameters of StorageClasses and VolumeAttributesClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.validation import check_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steersman.apimachinery.field import FieldError, Path

_PARAMETERS_MAX: Final = 512
_PARAMETERS_MAX_BYTES: Final = 256 * 1024


def check_provisioner(name: str, path: Path) -> Iterator[FieldError]:
    """Validate a provisioner: a qualified name in any case."""
    if not name:
        yield field.required(path)
    else:
        yield from check_all(path, name.lower(), names.check_qualified_name(name.lower()))


def check_parameters(parameters: Mapping[str, str] | None, path: Path, *, may_be_empty: bool) -> Iterator[FieldError]:
    """Validate the number and size of provisioner parameters."""
    entries = parameters or {}
    if not entries:
        if not may_be_empty:
            yield field.required(path, "must contain at least one key/value pair")
        return
    if len(entries) > _PARAMETERS_MAX:
        yield field.too_long(path, max_bytes=_PARAMETERS_MAX)
        return
    if "" in entries:
        yield field.invalid(path, "", "field can not be empty.")
    if sum(len(key.encode()) + len(value.encode()) for key, value in entries.items()) > _PARAMETERS_MAX_BYTES:
        yield field.too_long(path, max_bytes=_PARAMETERS_MAX_BYTES)
