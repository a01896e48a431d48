"""Protobuf encoding of objects (``application/vnd.kubernetes.protobuf``): a message in a ``runtime.Unknown``.

Bodies become trees as from JSON and must still be decoded (``schema.decoding``). Objects are encoded in the form of
upstream's encoders; lists of encoded objects need no decoding.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.protowire import wire_fields
from steersman.schema.loader import struct_for
from steersman.schema.protobuf_decoding import decoder_of, text_of
from steersman.schema.protobuf_encoding import encoder_of, length
from steersman.schema.protobuf_messages import has_message

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct
    from steersman.schema.protobuf_encoding import MessageEncoder

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\x00"
_META_V1: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
#: ``runtime.Unknown`` after the message: no content encoding, no content type.
ENVELOPE_END: Final = b"\x1a\x00\x22\x00"
#: Kinds without a definition in the published schema: metadata alone, and discovery.
_UNPUBLISHED_MODULES: Final = {
    "meta.k8s.io/v1": _META_V1,
    "meta.k8s.io/v1beta1": "io.k8s.apimachinery.pkg.apis.meta.v1beta1",
    "apidiscovery.k8s.io/v2": "io.k8s.api.apidiscovery.v2",
    "apidiscovery.k8s.io/v2beta1": "io.k8s.api.apidiscovery.v2beta1",
    "v1": _META_V1,
}
_METADATA: Final = f"{_META_V1}.PartialObjectMetadata"
#: Versions and kinds of bodies, of which a client may choose some.
_HEADS_MAX: Final = 512


class Envelope(msgspec.Struct, frozen=True):
    """``runtime.Unknown``: the kind of an object, and its message."""

    api_version: str
    kind: str
    raw: bytes


def open_envelope(body: bytes) -> Envelope:
    """Return the parts of a body. Raises DecodeError when it is not in the format."""
    if not body.startswith(MAGIC):
        raise DecodeError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    type_meta: dict[int, str] = {}
    raw = b""
    for number, value in wire_fields(body[len(MAGIC) :]):
        if isinstance(value, int):
            continue
        if number == 1:
            type_meta = {n: text_of(v) for n, v in wire_fields(value)}
        elif number == 2:
            raw = value
    return Envelope(type_meta.get(1, ""), type_meta.get(2, ""), raw)


def decode_body(body: bytes, api_version: str = "v1", kind: str = "") -> Tree:
    """Return the object of a whole body with its kind and apiVersion. Raises DecodeError.

    ``api_version`` and ``kind`` replace those that the envelope leaves out.
    """
    envelope = open_envelope(body)
    api_version, kind = envelope.api_version or api_version, envelope.kind or kind
    try:
        decoder = decoder_of(definition_of(api_version, kind))
    except KeyError:
        raise DecodeError(
            f'no kind "{kind}" is registered for version "{api_version}"'
            ' in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
        ) from None
    return {"kind": kind, "apiVersion": api_version, **decoder.decode(envelope.raw)}


def decode_message(struct: Struct, raw: bytes) -> Tree:
    """Return the tree of a message. Raises DecodeError."""
    if not has_message(struct.name):
        raise DecodeError(f"{struct.go_name} is not read in protobuf")
    return decoder_of(struct.name).decode(raw)


def definition_of(api_version: str, kind: str) -> str:
    """Return the definition name of a built-in kind. Raises KeyError."""
    group, _, version = api_version.rpartition("/")
    try:
        return struct_for(group, version, kind).name
    except KeyError:
        module = _UNPUBLISHED_MODULES.get(api_version)
        if module is None:
            raise
    if kind == "PartialObjectMetadata":  # one Go type for both versions
        return _METADATA
    definition = f"{module}.{kind}"
    if not has_message(definition):
        raise KeyError(f"{api_version}, Kind={kind}")
    return definition


def encoder_for(api_version: str, kind: str) -> MessageEncoder:
    """Return the encoder of a built-in kind. Raises KeyError."""
    return encoder_of(definition_of(api_version, kind))


def encode_body(tree: Tree) -> bytes:
    """Return an object, a list or a Status with its envelope. Raises KeyError for a kind that is not built in.

    Legacy discovery documents of the core group have no apiVersion.
    """
    api_version, kind = tree.get("apiVersion", ""), tree["kind"]
    return enclosed(api_version, kind, encoder_for(api_version or "v1", kind).encode(tree))


def enclosed(api_version: str, kind: str, raw: bytes) -> bytes:
    """Return an encoded message with its envelope."""
    return envelope_head(api_version, kind, len(raw)) + raw + ENVELOPE_END


def envelope_head(api_version: str, kind: str, size: int) -> bytes:
    """Return the envelope up to a message of ``size`` bytes; ``ENVELOPE_END`` follows the message."""
    return type_meta_head(api_version, kind) + length(size)


@lru_cache(maxsize=_HEADS_MAX)
def type_meta_head(api_version: str, kind: str) -> bytes:
    """Return the start of every envelope of a kind: up to the length of the message."""
    version, name = api_version.encode(), kind.encode()
    raw = b"\x0a" + length(len(version)) + version + b"\x12" + length(len(name)) + name
    return MAGIC + b"\x0a" + length(len(raw)) + raw + b"\x12"
