"""Request and response bodies as the JSON of audit events."""

from __future__ import annotations

import zlib
from typing import Any, Final

import msgspec

from steersman.apimachinery.codec import DecodeError, decode_json, encode
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.schema.protobuf import decode_body

_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"


class Identity(msgspec.Struct, rename="camel", frozen=True):
    """Identity of an object, from its metadata."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class _Identified(msgspec.Struct, frozen=True):
    metadata: Identity = Identity()


_decode_identified: Final = msgspec.json.Decoder(_Identified).decode

#: Identity of a body without metadata.
NO_IDENTITY: Final = Identity()


class RequestBody:
    """A request body."""

    __slots__ = ("_json", "_media_type", "_raw", "is_patch")

    def __init__(self, raw: bytes, media_type: str) -> None:
        self._raw = raw
        self._media_type = media_type
        #: True for patches, which are not objects.
        self.is_patch = media_type.endswith(("patch+json", "patch+yaml", "patch+cbor"))
        self._json: msgspec.Raw | None = None

    def json(self) -> msgspec.Raw | None:
        """Return the body as JSON on one line; None if it cannot be decoded."""
        if self._json is None and self._raw:
            self._json = _as_json(self._raw, self._media_type)
        return self._json

    def identity(self) -> Identity:
        """Return the identity of the object; empty for patches and bodies that cannot be decoded."""
        if self.is_patch or not self._raw:
            return NO_IDENTITY
        raw = self._raw if self._media_type.endswith("json") else self.json()
        try:
            return NO_IDENTITY if raw is None else _decode_identified(raw).metadata
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return NO_IDENTITY


class ResponseBody:
    """A response body; of a stream, the recorded part."""

    __slots__ = ("_gzipped", "_media_type", "pieces")

    def __init__(self, pieces: list[bytes], media_type: str, *, gzipped: bool) -> None:
        self.pieces = pieces
        self._media_type = media_type
        self._gzipped = gzipped

    def json(self) -> msgspec.Raw | None:
        """Return the body as JSON on one line; None if it is not JSON."""
        raw = b"".join(self.pieces)
        if self._gzipped:
            try:
                raw = zlib.decompress(raw, 16 + zlib.MAX_WBITS)
            except zlib.error:
                return None
        return _as_json(raw, self._media_type)


def _as_json(raw: bytes, media_type: str) -> msgspec.Raw | None:
    """Decode and encode again, so that the log has neither line breaks nor truncated objects."""
    try:
        if media_type.endswith("yaml"):
            return msgspec.Raw(encode(decode_yaml(raw).tree))
        if media_type == _PROTOBUF:
            return msgspec.Raw(encode(decode_body(raw)))
        if media_type.endswith(("/cbor", "+cbor")):
            from steersman.apimachinery import cbor  # noqa: PLC0415 — behind a feature gate

            return msgspec.Raw(encode(cbor.decode(raw)))
        if media_type and not media_type.endswith("json"):
            return None
        return msgspec.Raw(encode(decode_json(raw)))
    except DecodeError:
        return None


def without_managed_fields(raw: msgspec.Raw) -> Any:
    """Return an object, or a list, without ``metadata.managedFields``."""
    tree = msgspec.json.decode(raw)
    if not isinstance(tree, dict):
        return tree
    items = tree.get("items")
    for obj in [tree, *(items if isinstance(items, list) else ())]:
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        if isinstance(metadata, dict):
            metadata.pop("managedFields", None)
    return tree
