"""Validation of VolumeAttachments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate_sources import check_csi_driver_name
from steersman.apiserver.kinds.shared.validation import FIELD_IS_IMMUTABLE, check_all
from steersman.apiserver.kinds.shared.volume_specs import validate_volume_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_SOURCE: Final = field.Path("spec", "source")
_STATUS: Final = field.Path("status")
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_METADATA_MAX_BYTES: Final = 256 * 1024
_MESSAGE_MAX_BYTES: Final = 1024
_INT32_MAX: Final = (1 << 31) - 1


def validate_attachment(obj: Tree) -> Iterator[FieldError]:
    """Validate a new VolumeAttachment."""
    spec = obj.get("spec") or {}
    yield from _validate_spec(spec)
    attacher, volume = spec.get("attacher"), (spec.get("source") or {}).get("persistentVolumeName")
    if attacher:
        yield from check_csi_driver_name(attacher, _SPEC.child("attacher"))
    if volume is not None:
        yield from check_all(_SOURCE.child("persistentVolumeName"), volume, names.check_dns1123_subdomain(volume))


def validate_attachment_update(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update: the spec is immutable; names of attacher and volume are not checked again."""
    yield from _validate_spec(obj.get("spec") or {})
    if obj.get("spec") != old.get("spec"):
        yield field.invalid(_SPEC, go_form("VolumeAttachmentSpec", obj.get("spec") or {}), FIELD_IS_IMMUTABLE)


def validate_attachment_status(obj: Tree) -> Iterator[FieldError]:
    """Validate the attachment metadata and errors of the status."""
    status = obj.get("status") or {}
    metadata = status.get("attachmentMetadata") or {}
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items()) > _METADATA_MAX_BYTES:
        yield field.too_long(_STATUS.child("attachmentMetadata"), max_bytes=_METADATA_MAX_BYTES)
    for name in ("attachError", "detachError"):
        error, path = status.get(name) or {}, _STATUS.child(name)
        if len((error.get("message") or "").encode()) > _MESSAGE_MAX_BYTES:
            # as in 1.36, the message names another limit than the one applied
            yield field.too_long(path.child("message"), max_bytes=_METADATA_MAX_BYTES)
        code = error.get("errorCode")
        if code is not None:
            yield from check_all(path.child("errorCode"), code, names.check_in_range(code, 0, _INT32_MAX))


def _validate_spec(spec: Tree) -> Iterator[FieldError]:
    if not spec.get("attacher"):
        yield field.required(_SPEC.child("attacher"))
    yield from _validate_source(spec.get("source") or {})
    node = spec.get("nodeName") or ""
    yield from check_all(_SPEC.child("nodeName"), node, names.check_dns1123_subdomain(node))


def _validate_source(source: Tree) -> Iterator[FieldError]:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        yield field.required(_SOURCE, _ONE_SOURCE)
    elif name is not None and inline is not None:
        yield field.forbidden(_SOURCE, _ONE_SOURCE)
    elif inline is not None:
        yield from validate_volume_spec(inline, _SOURCE.child("inlineVolumeSpec"), is_inline=True)
    elif not name:
        yield field.required(_SOURCE.child("persistentVolumeName"), "must specify non empty persistentVolumeName")
