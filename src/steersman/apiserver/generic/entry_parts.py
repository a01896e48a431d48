"""Readers of parts of an encoded object, and the decoder of large objects by part."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.apimachinery.json_parts import PARTS_BYTES, decode_in_parts
from steersman.apimachinery.workmeter import spend_bytes


class _RawLabels(msgspec.Struct, gc=False):
    labels: msgspec.Raw = msgspec.Raw(b"")


class _Labelled(msgspec.Struct, gc=False):
    metadata: _RawLabels


class _StoredMetadata(msgspec.Struct, frozen=True, gc=False, rename={"resource_version": "resourceVersion"}):
    resource_version: str = ""


class _Stored(msgspec.Struct, gc=False):
    metadata: _StoredMetadata = _StoredMetadata()


class _Deletion(msgspec.Struct, gc=False, rename={"time": "deletionTimestamp"}):
    time: str | None = None


class _Deletable(msgspec.Struct, gc=False):
    metadata: _Deletion


_decode: Final = msgspec.json.Decoder().decode
_decode_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_items: Final = msgspec.json.Decoder(list[msgspec.Raw] | None).decode
_decode_deletable: Final = msgspec.json.Decoder(_Deletable).decode
_decode_labelled: Final = msgspec.json.Decoder(_Labelled).decode
_decode_labels: Final = msgspec.json.Decoder(dict[str, str] | None).decode
_decode_stored: Final = msgspec.json.Decoder(_Stored).decode


def labels_text(raw: bytes) -> bytes:
    """Return ``metadata.labels`` as JSON text; empty without labels."""
    return bytes(_decode_labelled(raw).metadata.labels)


def labels_of(text: bytes) -> dict[str, str]:
    """Decode the labels of ``labels_text``."""
    return _decode_labels(text) or {}


def version_of(value: bytes) -> str:
    """Return ``metadata.resourceVersion``; empty without one. Raises ``msgspec.DecodeError``."""
    return _decode_stored(value).metadata.resource_version


def is_terminating(raw: bytes) -> bool:
    """Report whether ``metadata.deletionTimestamp`` is set."""
    return bool(_decode_deletable(raw).metadata.time)


def tree_in_parts(raw: bytes, *, with_managed_fields: bool = True) -> dict[str, Any]:
    """Decode the top-level fields, those of ``metadata`` and each manager's fields one by one."""
    tree: dict[str, Any] = {}
    for name, value in _decode_fields(raw).items():
        tree[name] = _metadata(value, with_managed_fields=with_managed_fields) if name == "metadata" else _part(value)
    return tree


def _metadata(raw: msgspec.Raw, *, with_managed_fields: bool) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for name, value in _decode_fields(raw).items():
        if name != "managedFields":
            metadata[name] = _part(value)
        elif with_managed_fields:
            metadata[name] = [_part(item) for item in _decode_items(value) or ()]
    return metadata


def _part(raw: msgspec.Raw) -> Any:
    size = len(memoryview(raw))
    if size >= PARTS_BYTES:
        return decode_in_parts(bytes(raw))
    value = _decode(raw)
    spend_bytes(size)
    return value
