"""Entries of the watch cache: encoded objects that are served without decoding.

Stored values are the JSON that kube-apiserver writes: kind and apiVersion of the storage version first, then metadata
without a resourceVersion (it is the key's ``mod_revision``). An ``Entry`` keeps the same bytes without the first two
fields and with the version spliced in::

    stored   {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a",…
    raw      {"metadata":{"resourceVersion":"17","name":"a",…

so that a list item is ``raw``, a whole object is ``head + raw[1:]``, and neither is ever encoded again.

``Layout`` is the only place where stored values become entries and objects become stored values. Values in protobuf or in
another API version of the kind are decoded by ``storage_codec.StorageCodec``; both encodings are recognised by their first bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.codec import encode
from steersman.apimachinery.json_parts import PARTS_BYTES
from steersman.apiserver.generic.entry_parts import labels_of, labels_text, tree_in_parts, version_of
from steersman.apiserver.generic.storage_codec import decode_custom_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.storage_codec import StorageCodec

_decode: Final = msgspec.json.Decoder().decode

_VERSIONED: Final = b'{"metadata":{"resourceVersion":'
_RAW_HEAD: Final = _VERSIONED + b'"'
#: ``}``, the last byte of an object.
_BRACE: Final = 0x7D
_NO_LABELS: Final[dict[str, str]] = {}

#: Equal label sets share one dict, equal field values one tuple; most pods of a workload have the same. Emptied when
#: full, so both are bounded.
_SETS_BYTES: Final = 4 * 1024 * 1024
_label_sets: Final = BoundedCache[dict[str, str]](entries_max=4096, bytes_max=_SETS_BYTES, name="label sets")
_field_sets: Final = BoundedCache[tuple[str, ...]](entries_max=4096, bytes_max=_SETS_BYTES, name="field values")


class Entry(msgspec.Struct, gc=False, eq=False):
    """One object at one revision. Immutable except for cached views."""

    key: str
    #: The object in the storage version without kind and apiVersion; metadata and in it resourceVersion come first.
    raw: bytes
    revision: int
    _labels: dict[str, str] | None = None
    _fields: tuple[str, ...] | None = None
    #: Encodings other than ``raw``, by the name that the encoder chooses.
    _encoded: dict[str, bytes] | None = None
    #: Version of ``raw`` if it is not the storage version (custom objects that were stored before it changed).
    api_version: str = ""

    @property
    def name(self) -> str:
        """``metadata.name``, from the key."""
        return self.key[self.key.rfind("/") + 1 :]

    @property
    def labels(self) -> dict[str, str]:
        """``metadata.labels``; decoded on first use. Shared: do not change it."""
        labels = self._labels
        if labels is None:
            labels = self._labels = _labels_of(self.raw)
        return labels

    def fields(self, values: Mapping[str, Callable[[Tree], str]]) -> tuple[str, ...]:
        """Return the values of the kind's field labels, in the order of ``values`` (the same in all calls); computed on first use."""
        fields = self._fields
        if fields is None:
            fields = self._fields = _fields_of(self.raw, values)
        return fields

    @property
    def has_fields(self) -> bool:
        """Report whether ``fields`` were read before."""
        return self._fields is not None

    def encoded(self, form: str, encode: Callable[[Entry], bytes]) -> bytes:
        """Return the object in another form; ``encode`` runs on first use. All readers share the result."""
        encoded = self._encoded
        if encoded is None:
            encoded = self._encoded = {}
        raw = encoded.get(form)
        if raw is None:
            raw = encoded[form] = encode(self)
        return raw

    def has_encoded(self, form: str) -> bool:
        """Report whether the object was encoded in this form before."""
        return self._encoded is not None and form in self._encoded

    def tree(self) -> Tree:
        """Return a new tree of the object in the storage version, without kind and apiVersion."""
        raw = self.raw
        tree: Tree = _decode(raw) if len(raw) < PARTS_BYTES else tree_in_parts(raw)
        return tree

    def at(self, revision: int) -> Entry:
        """Return the same object as if last written at ``revision`` (the last state of a deleted object)."""
        rest = self.raw[self.raw.index(b'"', len(_RAW_HEAD)) :]
        raw = b"%b%d%b" % (_RAW_HEAD, revision, rest)
        return Entry(self.key, raw, revision, self._labels, self._fields, None, self.api_version)


class StaleEntry(Entry, gc=False, eq=False):
    """Entry whose stored value differs from what a write of the same object stores: encoding, API version, encryption key.

    An update that changes nothing is stored nevertheless. Upstream: ``objState.stale`` of ``GuaranteedUpdate``.
    """


def stale(entry: Entry) -> StaleEntry:
    """Return the entry as stale."""
    return StaleEntry(entry.key, entry.raw, entry.revision, entry._labels, entry._fields)


def _labels_of(raw: bytes) -> dict[str, str]:
    text = labels_text(raw)
    if not text:
        return _NO_LABELS
    labels = _label_sets.get(text)
    if labels is None:
        labels = labels_of(text) or _NO_LABELS
        _label_sets.put(text, labels, 4 * len(text))
    return labels


def _fields_of(raw: bytes, values: Mapping[str, Callable[[Tree], str]]) -> tuple[str, ...]:
    tree = _decode(raw) if len(raw) < PARTS_BYTES else tree_in_parts(raw, with_managed_fields=False)
    fields = tuple([value_of(tree) for value_of in values.values()])
    shared = _field_sets.get(fields)
    if shared is None:
        shared = fields
        _field_sets.put(fields, fields, sum([80 + len(value) for value in fields]))
    return shared


class Layout:
    """Encoding of the objects of one kind, in its storage version, as stored values and entries."""

    __slots__ = (
        "_codec", "_is_json_stale", "_is_plain_json", "_keeps_api_version", "_stored_head", "_type_head", "api_version", "head", "kind",
    )  # fmt: skip

    def __init__(
        self, kind: str, api_version: str, codec: StorageCodec | None = None, *, keeps_api_version: bool = False
    ) -> None:
        """``codec`` decodes values in other forms, and encodes in protobuf; None for custom resources, which are
        JSON or CBOR, and written as JSON.

        ``keeps_api_version``: values in another version of the group are entries of that version.
        """
        self.kind: Final = kind
        self.api_version: Final = api_version
        #: Prefix that makes ``raw[1:]`` a whole object.
        self.head: Final = object_head(kind, api_version)
        #: The same for stored values.
        self._type_head: Final = self.head if codec is None else object_head(kind, codec.stored_version)
        self._stored_head: Final = self._type_head + b'"metadata":{'
        self._codec: Final = codec
        #: Values are what ``encode`` returns, and a newline.
        self._is_plain_json: Final = codec is None or (
            not codec.writes_protobuf and codec.stored_version == api_version
        )
        self._is_json_stale: Final = codec is not None and codec.writes_protobuf
        self._keeps_api_version: Final = keeps_api_version

    def stored(self, tree: Tree) -> bytes:
        """Return the value to store. ``tree`` (with or without kind and apiVersion) is not changed, its version is dropped."""
        value = self.encode(tree)
        if self._is_plain_json:
            return value + b"\n"  # as kube-apiserver ends its values
        if self._is_json_stale and self._codec is not None:
            return self._codec.encode(tree, value)
        return self._type_head + value[len(self.head) :] + b"\n"

    def encode(self, tree: Tree) -> bytes:
        """Return the object as JSON, kind and apiVersion first, without its version. ``tree`` is not changed."""
        metadata = tree["metadata"]
        if "resourceVersion" in metadata:
            metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
        ordered: Tree = {"kind": self.kind, "apiVersion": self.api_version, "metadata": metadata}
        for key, value in tree.items():
            if key not in ordered:
                ordered[key] = value
        return encode(ordered)

    def entry(self, key: str, value: bytes, revision: int, *, is_stale: bool = False) -> Entry:
        """Return the entry of a stored value. Raises ``UnreadableValueError``.

        ``is_stale``: the store reads the value with another key than it writes.
        """
        head, api_version = self._stored_head, ""
        end = len(value) - 1 if value.endswith(b"\n") else len(value)
        if not value.startswith(head) or value[end - 1] != _BRACE or _says_version(value):
            is_current = self._is_json_stale and self._codec is not None and self._codec.is_current(value)
            value, api_version = self._normalized(key, value)
            start, end = len(self.head) + len(b'"metadata":{'), len(value)
        else:
            is_current = not self._is_json_stale
            start = len(head)
        comma = b"" if value.startswith(b"}", start) else b","
        if end < PARTS_BYTES:
            raw = b'%b%d"%b%b' % (_RAW_HEAD, revision, comma, value[start:end])
        else:
            raw = b"".join((b'%b%d"%b' % (_RAW_HEAD, revision, comma), memoryview(value)[start:end]))
        if api_version:
            return StaleEntry(key, raw, revision, None, None, None, api_version)
        return Entry(key, raw, revision) if is_current and not is_stale else StaleEntry(key, raw, revision)

    def entry_of(self, key: str, tree: Tree, revision: int) -> Entry:
        """Return the entry of an object; ``revision`` 0: one that is not stored and has no resourceVersion."""
        value = self.encode(tree)
        return self.entry(key, value, revision) if revision else Entry(key, b"{" + value[len(self.head) :], 0)

    def unstored(self, key: str, tree: Tree) -> Entry:
        """Return the entry of an object that is not stored, with the resourceVersion of ``tree``, which may be any text."""
        rest, version = self.encode(tree)[len(self.head) :], tree["metadata"].get("resourceVersion")
        if not version:
            return Entry(key, b"{" + rest, 0)
        rest = rest.removeprefix(b'"metadata":{')
        return Entry(key, b"".join((_VERSIONED, encode(version), b"" if rest[0] == _BRACE else b",", rest)), 0)

    def tree(self, entry: Entry) -> Tree:
        """Return a new, whole tree of the object: kind, apiVersion, metadata with resourceVersion, and the rest."""
        return {"kind": self.kind, "apiVersion": entry.api_version or self.api_version, **entry.tree()}

    def _normalized(self, key: str, value: bytes) -> tuple[bytes, str]:
        """Return the JSON of a value in any other form, and its version if that is to be kept and another one. Raises
        ``UnreadableValueError``.
        """
        codec = self._codec
        if codec is not None:
            return codec.recently_encoded(value) or self.encode(codec.decode(key, value)), ""
        tree = decode_custom_value(key, value)
        api_version = tree.get("apiVersion") if self._keeps_api_version else ""
        is_other = isinstance(api_version, str) and api_version not in ("", self.api_version)
        return self.encode(tree), str(api_version) if is_other else ""


def _says_version(value: bytes) -> bool:
    """Report whether metadata holds a resourceVersion. No API server writes one, but other tools do."""
    if value.find(b'"resourceVersion"') < 0:  # ``in`` would first try whether that is a number, for 50 ns
        return False
    try:
        return bool(version_of(value))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True


def object_head(kind: str, api_version: str) -> bytes:
    """Return ``{"kind":"Pod","apiVersion":"v1",``, the text before ``raw[1:]`` of an entry in a whole object."""
    return b'{"kind":%b,"apiVersion":%b,' % (encode(kind), encode(api_version))
