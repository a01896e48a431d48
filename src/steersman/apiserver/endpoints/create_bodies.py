"""Cache of request bodies of creates: of a body that differs from an earlier one only in metadata, the spec is not decoded again.

Controllers create thousands of objects of one spec, and each of them writes all of its bodies in one way. So the text of
a body is taken apart into that of the metadata, that of the spec, and the *frame* around these two::

    {"kind":"Pod","apiVersion":"v1","metadata":   {"name":"a"}   ,"spec":   {"containers":[…]}   ,"status":{}}

What a frame and a spec say is known when they were in valid bodies before, and JSON means the same wherever it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.bounded_cache import BoundedCache, Doorkeeper
from steersman.apimachinery.codec import DecodeError, decode_json, encode, may_hide_keys
from steersman.apimachinery.typemodel import Struct
from steersman.schema.decoding import decode, zero

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

#: Text before the metadata, between metadata and spec, and after the spec.
Frame = tuple[bytes, bytes, bytes]
#: Texts of metadata and spec.
Parts = tuple[bytes, bytes]

#: Bounds for one kind.
_SPECS_BYTES_MAX: Final = 12 * 1024 * 1024
_SPEC_BYTES_MAX: Final = 4096
_SPECS_MAX: Final = 1024
_FRAME_BYTES_MAX: Final = 256


class _Parts(msgspec.Struct, gc=False):
    metadata: msgspec.Raw
    spec: msgspec.Raw


_decode_parts: Final = msgspec.json.Decoder(_Parts).decode
_decode: Final = msgspec.json.Decoder().decode


class CachedSpec:
    """Decoded and defaulted spec of one text, compared by identity."""

    __slots__ = ("_text",)

    def __init__(self, text: bytes) -> None:
        self._text: Final = text

    def tree(self) -> Tree:
        """Return the spec, decoded and defaulted; a new tree each time."""
        tree: Tree = _decode(self._text)
        return tree


class CreateBodyCache:
    """Request bodies of one kind in one version, whose defaults must depend on the spec alone."""

    __slots__ = ("_doorkeeper", "_frames", "_identity", "_metadata", "_others", "_specs")

    def __init__(self, struct: Struct, kind: str, api_version: str) -> None:
        metadata = struct.fields["metadata"].type
        if not isinstance(metadata, Struct):
            raise TypeError(f"{kind} has no metadata")
        self._metadata: Final = metadata
        self._identity: Final[Tree] = {"kind": kind, "apiVersion": api_version}
        #: Fields that a decoded object has beside metadata and spec.
        self._others: Final = encode({k: v for k, v in zero(struct).items() if k not in ("metadata", "spec")})
        #: The most recent frame by length.
        self._frames: Final[dict[int, Frame]] = {}
        self._specs: Final = BoundedCache[CachedSpec](
            entries_max=_SPECS_MAX, bytes_max=_SPECS_BYTES_MAX, name="bodies of new objects"
        )
        self._doorkeeper: Final = Doorkeeper()

    def read(self, raw: bytes, parts: Parts) -> tuple[Tree, CachedSpec] | None:
        """Return the object of a body, its spec defaulted; None if the body is not in the cache."""
        metadata_text, spec_text = parts
        cached = self._specs.get(spec_text)
        frame = self._frames.get(len(raw) - len(metadata_text) - len(spec_text))
        if cached is None or frame is None:
            return None
        before, between, after = frame
        if b"".join((before, metadata_text, between, spec_text, after)) != raw:
            return None
        metadata = self._read_metadata(metadata_text)
        if metadata is None:
            return None
        return {**self._identity, "metadata": metadata, "spec": cached.tree(), **_decode(self._others)}, cached

    def _read_metadata(self, text: bytes) -> Tree | None:
        try:
            tree = decode_json(text)
            metadata, unknown = decode(self._metadata, tree)
        except DecodeError:
            return None
        return None if unknown or "managedFields" in tree or may_hide_keys(text, tree) else metadata

    def add(self, raw: bytes, parts: Parts, tree: Tree) -> bool:
        """Cache a body without unknown or duplicated fields that was decoded and defaulted to ``tree``.

        Return True for the first body with its spec, which is not cached yet.
        """
        metadata_text, spec_text = parts
        if len(spec_text) > _SPEC_BYTES_MAX:
            return False
        if not self._doorkeeper.admits(spec_text):
            return True
        before, _, rest = raw.partition(metadata_text)
        between, _, after = rest.partition(spec_text)
        frame = (before, between, after)
        others = {k: v for k, v in tree.items() if k not in ("kind", "apiVersion", "metadata", "spec")}
        if encode(others) != self._others or not _is_around(frame):
            return False
        text = encode(tree["spec"])
        if encode(_decode(text)) == text:
            self._frames[sum(map(len, frame))] = frame
            self._specs.put(spec_text, CachedSpec(text), len(spec_text) + len(text))
        return False


def parts_of(raw: bytes) -> Parts | None:
    """Return the texts of metadata and spec; None if one is absent."""
    try:
        parts = _decode_parts(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return bytes(parts.metadata), bytes(parts.spec)


def _is_around(frame: Frame) -> bool:
    """Report whether the parts between the frame are the metadata and the spec; their texts may occur elsewhere too."""
    if sum(map(len, frame)) > _FRAME_BYTES_MAX:
        return False
    try:
        tree = decode_json(b"%b1%b2%b" % frame)
    except DecodeError:
        return False
    return isinstance(tree, dict) and (tree.get("metadata"), tree.get("spec")) == (1, 2)
