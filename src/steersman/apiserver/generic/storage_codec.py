"""Codec of stored values in protobuf or in other API versions of a built-in kind.

Values are recognised by their first bytes, whatever ``--storage-media-type`` says. A decoded object is defaulted and converted
to the storage version, as another API server may have written it.

Upstream: staging/src/k8s.io/apiserver/pkg/server/storage/storage_codec.go (``NewStorageCodec``), and the recognizing decoder of
staging/src/k8s.io/apimachinery/pkg/runtime/serializer/recognizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.codec import DecodeError
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for
from steersman.schema.protobuf import (
    MAGIC,
    MEDIA_TYPE,
    decode_message,
    enclosed,
    encoder_for,
    open_envelope,
    type_meta_head,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct

    #: Conversion from another API version to the storage version; may change the tree.
    Conversion = Callable[[Tree], Tree]
    #: Sets defaults of a tree in an API version, which is given without its group.
    Default = Callable[[Tree, str], None]

JSON: Final = "application/json"
#: The first bytes of values in CBOR.
SELF_DESCRIBED_CBOR: Final = b"\xd9\xd9\xf7"
#: Values that the store could not decrypt.
_ENCRYPTED: Final = b"k8s:enc:"
#: Length of the excerpt of such a value in errors: its provider, or the reason.
_SHOWN_BYTES: Final = 200

_decode_json: Final = msgspec.json.Decoder().decode

#: JSON of recently encoded values, by value: the watch of the store returns them.
_BYTES_MAX: Final = 8 * 1024 * 1024
_recent: Final = BoundedCache[bytes](entries_max=1024, bytes_max=_BYTES_MAX, name="stored values")


class UnreadableValueError(Exception):
    """A stored value is no object of its resource: undecodable, of another kind, of an unknown API version, or damaged."""


class StorageCodec:
    """Codec of one built-in kind."""

    __slots__ = (
        "_conversions",
        "_default",
        "_kind",
        "_protobuf_head",
        "_struct",
        "_version",
        "stored_version",
        "writes_protobuf",
    )

    def __init__(
        self,
        kind: str,
        api_version: str,
        *,
        stored_version: str = "",
        media_type: str = JSON,
        default: Default | None = None,
        conversions: Mapping[str, Conversion | None] | None = None,
    ) -> None:
        """``stored_version``: the apiVersion inside stored values, if it is another one with the same fields.

        ``conversions``: other readable API versions; None where the kind has the same fields as in the storage version.
        """
        self._kind: Final = kind
        self._version: Final = api_version
        self.stored_version: Final = stored_version or api_version
        self._default: Final = default
        self._conversions: Final[dict[str, Conversion | None]] = {self.stored_version: None, **(conversions or {})}
        #: True to store objects in protobuf; values in JSON are readable either way.
        self.writes_protobuf: Final = media_type == MEDIA_TYPE
        self._struct: Struct | None = None
        self._protobuf_head: Final = type_meta_head(self.stored_version, kind)

    def is_current(self, value: bytes) -> bool:
        """Report whether a value is in protobuf and in the storage version."""
        return value.startswith(self._protobuf_head)

    def encode(self, tree: Tree, json: bytes) -> bytes:
        """Return the object in protobuf, with its envelope. ``json`` is the same object, without its version."""
        metadata = tree["metadata"]
        if "resourceVersion" in metadata or "selfLink" in metadata:
            dropped = ("resourceVersion", "selfLink")
            metadata = {name: value for name, value in metadata.items() if name not in dropped}
            tree = {**tree, "metadata": metadata}
        value = enclosed(self.stored_version, self._kind, encoder_for(self._version, self._kind).encode(tree))
        _recent.put(value, json, len(value) + len(json))
        return value

    def recently_encoded(self, value: bytes) -> bytes | None:
        """Return the JSON of a value that ``encode`` returned recently; None if it is no longer cached."""
        return _recent.get(value) if self.writes_protobuf else None

    def decode(self, key: str, value: bytes) -> Tree:
        """Return the object in the storage version. Raises ``UnreadableValueError``."""
        try:
            if value.startswith(MAGIC):
                return self._to_storage_version(key, *self._from_protobuf(key, value))
            tree: Tree = decode_json_value(key, value)
            api_version, kind = tree.get("apiVersion"), tree.get("kind")
            if not all(text is None or isinstance(text, str) for text in (api_version, kind)):
                raise UnreadableValueError(f"{key}: apiVersion or kind is no text")
            api_version, kind = api_version or self._version, kind or self._kind
            self._check_kind(key, api_version, kind)
            if api_version == self._version:  # incomplete, or its fields are in another order
                return tree
            return self._to_storage_version(key, api_version, tree)
        except DecodeError as error:
            raise UnreadableValueError(f"{key}: {error}") from error

    def _from_protobuf(self, key: str, value: bytes) -> tuple[str, Tree]:
        """Return apiVersion and tree, which still has to be decoded into its type."""
        envelope = open_envelope(value)
        api_version = envelope.api_version or self._version
        self._check_kind(key, api_version, envelope.kind or self._kind)
        tree = decode_message(self._struct_of(api_version), envelope.raw)
        if not isinstance(tree.get("metadata"), dict):
            raise UnreadableValueError(f"{key}: metadata is no object")
        return api_version, tree

    def _check_kind(self, key: str, api_version: str, kind: str) -> None:
        if kind != self._kind:
            raise UnreadableValueError(f"{key}: holds a {kind} ({api_version}), expected a {self._kind}")
        if api_version != self._version and api_version not in self._conversions:
            raise UnreadableValueError(f'{key}: no kind "{kind}" is registered for version "{api_version}"')

    def _struct_of(self, api_version: str) -> Struct:
        """Return the type of the kind in a readable version."""
        if self._conversions.get(api_version) is None:
            if self._struct is None:
                self._struct = _struct_of(self._kind, self._version)
            return self._struct
        return _struct_of(self._kind, api_version)

    def _to_storage_version(self, key: str, api_version: str, tree: Tree) -> Tree:
        """Return the object as upstream's decoder does: as Go holds it, defaulted, in the storage version."""
        decoded: Tree = decode(self._struct_of(api_version), tree).tree
        if not isinstance(decoded.get("metadata"), dict):
            raise UnreadableValueError(f"{key}: metadata is no object")
        default, convert = self._default, self._conversions.get(api_version)
        if default is not None:
            default(decoded, (api_version if convert is not None else self._version).rpartition("/")[2])
        if convert is not None:
            decoded = convert({**decoded, "kind": self._kind, "apiVersion": api_version})
        return decoded


def _struct_of(kind: str, api_version: str) -> Struct:
    group, _, version = api_version.rpartition("/")
    return struct_for(group, version, kind)


def decode_custom_value(key: str, value: bytes) -> Any:
    """Return the object of a value of a custom resource, in JSON or CBOR. Raises ``UnreadableValueError``.

    A kube-apiserver with the feature gate ``CBORServingAndStorage`` stores CBOR. Upstream: ``NewCRDRESTOptionsGetter``
    (staging/src/k8s.io/apiextensions-apiserver/pkg/cmd/server/options/options.go).
    """
    if not value.startswith(SELF_DESCRIBED_CBOR):
        return decode_json_value(key, value)
    from steersman.apimachinery.cbor import decode_stored  # noqa: PLC0415 — few stores hold any

    try:
        tree = decode_stored(value)
    except DecodeError as error:
        raise UnreadableValueError(f"{key}: {error}") from error
    if not isinstance(tree, dict) or not isinstance(tree.get("metadata"), dict):
        raise UnreadableValueError(f"{key}: metadata is no object")
    return tree


def decode_json_value(key: str, value: bytes) -> Any:
    """Return the object of a value in JSON. Raises ``UnreadableValueError``."""
    if value.startswith(_ENCRYPTED):
        raise UnreadableValueError(f"{key}: no provider decrypts it: {value[:_SHOWN_BYTES].decode(errors='replace')}")
    try:
        tree = _decode_json(value)
        if not isinstance(tree["metadata"], dict):
            raise UnreadableValueError(f"{key}: metadata is no object")
    except (msgspec.DecodeError, KeyError, TypeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableValueError(f"{key}: {error}") from error
    return tree
