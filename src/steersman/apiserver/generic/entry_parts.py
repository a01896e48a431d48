"""What is read of an object's bytes without decoding the rest of them: its labels, the version that it names itself."""

from __future__ import annotations

from typing import Final

import msgspec


class _RawLabels(msgspec.Struct, gc=False):
    labels: msgspec.Raw = msgspec.Raw(b"")


class _Labelled(msgspec.Struct, gc=False):
    metadata: _RawLabels


class _StoredMetadata(msgspec.Struct, gc=False):
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class _Stored(msgspec.Struct, gc=False):
    metadata: _StoredMetadata = msgspec.field(default_factory=_StoredMetadata)


_decode_labelled: Final = msgspec.json.Decoder(_Labelled).decode
_decode_labels: Final = msgspec.json.Decoder(dict[str, str] | None).decode
_decode_stored: Final = msgspec.json.Decoder(_Stored).decode


def labels_text(raw: bytes) -> bytes:
    """``metadata.labels`` as JSON text; empty when there are none."""
    return bytes(_decode_labelled(raw).metadata.labels)


def labels_of(text: bytes) -> dict[str, str]:
    """What such a text says."""
    return _decode_labels(text) or {}


def version_of(value: bytes) -> str:
    """``metadata.resourceVersion``; empty when there is none. Raises ``msgspec.DecodeError``."""
    return _decode_stored(value).metadata.resource_version
