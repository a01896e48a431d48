"""How an object lies in the store and in the cache: bytes that answer requests without being decoded.

Stored values are the JSON that kube-apiserver writes: kind and apiVersion of the storage version first, then metadata
without a resourceVersion (it is the key's ``mod_revision``). An ``Entry`` keeps the same bytes without the first two
fields and with the version spliced in::

    stored   {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a",…
    raw      {"metadata":{"resourceVersion":"17","name":"a",…

so that a list item is ``raw``, a whole object is ``head + raw[1:]``, and neither is ever encoded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.codec import encode
from steersman.apiserver.generic.entry_parts import PARTS_BYTES, labels_of, labels_text, tree_in_parts, version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree


_decode: Final = msgspec.json.Decoder().decode

_RAW_HEAD: Final = b'{"metadata":{"resourceVersion":"'
_NO_LABELS: Final[dict[str, str]] = {}

#: Equal label sets share one dict, equal field values one tuple; most pods of a workload have the same. Emptied when
#: full, so both are bounded.
_SETS_BYTES: Final = 4 * 1024 * 1024
_label_sets: Final = BoundedCache[dict[str, str]](entries_max=4096, bytes_max=_SETS_BYTES, name="label sets")
_field_sets: Final = BoundedCache[tuple[str, ...]](entries_max=4096, bytes_max=_SETS_BYTES, name="field values")


class UnreadableValueError(Exception):
    """A stored value is no JSON object with metadata: another writer's format, or a damaged file."""


class Entry(msgspec.Struct, gc=False, eq=False):
    """One object as of one revision. Immutable but for what it remembers of being read."""

    key: str
    #: The object in the storage version without kind and apiVersion; metadata and in it resourceVersion come first.
    raw: bytes
    revision: int
    _labels: dict[str, str] | None = None
    _fields: tuple[str, ...] | None = None
    #: Encoded forms other than ``raw``, by a name of the encoder's choice; they go when the object changes.
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
    known = _field_sets.get(fields)
    if known is None:
        known = fields
        _field_sets.put(fields, fields, sum([80 + len(value) for value in fields]))
    return known


class Layout:
    """Turns objects of one kind, in its storage version, into stored values and back."""

    __slots__ = ("_keeps_api_version", "_stored_head", "api_version", "head", "kind")

    def __init__(self, kind: str, api_version: str, *, keeps_api_version: bool = False) -> None:
        """``keeps_api_version``: values in another version of the group are entries of that version."""
        self.kind: Final = kind
        self.api_version: Final = api_version
        #: Goes before ``raw[1:]`` to make a whole object.
        self.head: Final = object_head(kind, api_version)
        self._stored_head: Final = self.head + b'"metadata":{'
        self._keeps_api_version: Final = keeps_api_version

    def encode(self, tree: Tree) -> bytes:
        """Return the value to store. ``tree`` (with or without kind and apiVersion) is not changed; its resourceVersion is dropped."""
        metadata = tree["metadata"]
        if "resourceVersion" in metadata:
            metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
        ordered: Tree = {"kind": self.kind, "apiVersion": self.api_version, "metadata": metadata}
        for key, value in tree.items():
            if key not in ordered:
                ordered[key] = value
        return encode(ordered)

    def entry(self, key: str, value: bytes, revision: int) -> Entry:
        """Return the entry of a stored value. Raises ``UnreadableValueError``."""
        head, api_version = self._stored_head, ""
        if value.endswith(b"\n"):  # as kube-apiserver ends its values
            value = value[:-1]
        if not value.startswith(head) or not value.endswith(b"}") or _says_version(value):
            value, api_version = self._normalized(key, value)
        start = len(head)
        comma = b"" if value.startswith(b"}", start) else b","
        if len(value) < PARTS_BYTES:
            raw = b'%b%d"%b%b' % (_RAW_HEAD, revision, comma, value[start:])
        else:
            raw = b"".join((b'%b%d"%b' % (_RAW_HEAD, revision, comma), memoryview(value)[start:]))
        if api_version:
            return Entry(key, raw, revision, None, None, None, api_version)
        return Entry(key, raw, revision)

    def entry_of(self, key: str, tree: Tree, revision: int) -> Entry:
        """Return the entry of an object; ``revision`` 0: one that is not stored and has no resourceVersion."""
        value = self.encode(tree)
        return self.entry(key, value, revision) if revision else Entry(key, b"{" + value[len(self.head) :], 0)

    def tree(self, entry: Entry) -> Tree:
        """Return a new, whole tree of the object: kind, apiVersion, metadata with resourceVersion, and the rest."""
        return {"kind": self.kind, "apiVersion": entry.api_version or self.api_version, **entry.tree()}

    def _normalized(self, key: str, value: bytes) -> tuple[bytes, str]:
        """Return the value as ``encode`` writes it, and its version if that is to be kept and another one."""
        try:
            tree = _decode(value)
            if not isinstance(tree["metadata"], dict):
                raise UnreadableValueError(f"{key}: metadata is no object")
        except (msgspec.DecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
            raise UnreadableValueError(f"{key}: {error}") from error
        api_version = tree.get("apiVersion") if self._keeps_api_version else ""
        is_other = isinstance(api_version, str) and api_version not in ("", self.api_version)
        return self.encode(tree), str(api_version) if is_other else ""


def _says_version(value: bytes) -> bool:
    """Report whether metadata holds a resourceVersion. No API server writes one, but other tools do."""
    if value.find(b'"resourceVersion"') < 0:  # ``in`` would first try whether that is a number, for 50 ns
        return False
    try:
        return bool(version_of(value))
    except msgspec.DecodeError:
        return True


def object_head(kind: str, api_version: str) -> bytes:
    """``{"kind":"Pod","apiVersion":"v1",``: what goes before an entry's ``raw[1:]`` to make a whole object."""
    return b'{"kind":%b,"apiVersion":%b,' % (encode(kind), encode(api_version))
