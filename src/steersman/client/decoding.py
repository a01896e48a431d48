"""Bytes to objects: straight into structs, without a tree in between, where the bytes are as the struct says.

Go writes ``null`` for an empty list and leaves out what is empty, also where the API says that a field is there; a
struct would not take that. Such an object is read a second time, slowly, with Go's zero values in those places.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from steersman.client.errors import UnreadableAnswer
from steersman.client.gc_pause import gc_paused
from steersman.client.zero_values import fit

if TYPE_CHECKING:
    from steersman.client.resource_types import ResourceType

T = TypeVar("T")

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"

_SHOWN_BYTES: Final = 80


class ListMeta(msgspec.Struct, frozen=True):
    """Metadata of a list, as far as clients need it."""

    resourceVersion: str = ""  # noqa: N815 — as on the wire
    continue_: str = msgspec.field(name="continue", default="")
    remainingItemCount: int | None = None  # noqa: N815 — as on the wire


class ObjectList(list[T]):
    """Objects of one answer to a LIST, and what the answer says of itself."""

    def __init__(self, items: list[T], metadata: ListMeta) -> None:
        super().__init__(items)
        #: The version of the whole list, where a watch may go on.
        self.resource_version = metadata.resourceVersion
        #: Empty on the last page.
        self.continue_token = metadata.continue_
        self.remaining_item_count = metadata.remainingItemCount


class WatchEvent(msgspec.Struct, Generic[T]):
    """One change. ``object`` of a bookmark has little more than a version; of an ``ERROR`` it is a Status, a tree."""

    type: str
    object: T


class _Listed(msgspec.Struct, Generic[T]):
    items: list[T] | None = None
    metadata: ListMeta = ListMeta()


class _RawEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class BookmarkMeta(msgspec.Struct):
    """What a bookmark tells."""

    resourceVersion: str = ""  # noqa: N815 — as on the wire
    annotations: dict[str, str] | None = None


class Bookmark(msgspec.Struct):
    """A version that the stream has reached."""

    metadata: BookmarkMeta = msgspec.field(default_factory=BookmarkMeta)

    @property
    def ends_initial_events(self) -> bool:
        """Whether the objects that a streaming list begins with have all been sent (KEP-3157)."""
        return (self.metadata.annotations or {}).get("k8s.io/initial-events-end") == "true"


_tree_decoder: Final = msgspec.json.Decoder()
_raw_event_decoder: Final = msgspec.json.Decoder(_RawEvent)
_bookmark_decoder: Final = msgspec.json.Decoder(Bookmark)


class Decoding(Generic[T]):
    """Decoders for the objects of one resource; made once for each (see ``decoding_of``)."""

    def __init__(self, resource: ResourceType[T]) -> None:
        self._info = resource.info
        model: Any = resource.model
        self._model = model
        self._is_tree = resource.is_tree
        self._object: msgspec.json.Decoder[Any] = msgspec.json.Decoder(model)
        self._list: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Listed[model])
        self._event: msgspec.json.Decoder[Any] = msgspec.json.Decoder(WatchEvent[model])

    def decode_object(self, raw: bytes | msgspec.Raw) -> T:
        """One object. Raises UnreadableAnswer."""
        try:
            return self._object.decode(raw)  # type: ignore[no-any-return]
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return self._fitted(_tree(bytes(raw)))

    def decode_list(self, raw: bytes) -> ObjectList[T]:
        """A whole list. Raises UnreadableAnswer."""
        try:
            with gc_paused(len(raw)):
                read = self._list.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            read = self._list_slowly(raw)
        items = read.items or []
        if self._is_tree:
            self._say_kind(items)
        return ObjectList(items, read.metadata)

    def decode_event(self, line: bytes) -> WatchEvent[Any]:
        """One line of a watch: a bookmark's object is a ``Bookmark``, an error's a tree. Raises UnreadableAnswer."""
        # Servers write the type first, so most lines need to be read only once.
        if line.startswith((b'{"type":"ADDED"', b'{"type":"MODIFIED"', b'{"type":"DELETED"')):
            try:
                return self._event.decode(line)  # type: ignore[no-any-return]
            except (msgspec.MsgspecError, UnicodeDecodeError):
                pass  # read again below, more slowly
        try:
            event = _raw_event_decoder.decode(line)
            if event.type == BOOKMARK:
                return WatchEvent(BOOKMARK, _bookmark_decoder.decode(event.object))
            if event.type == ERROR:
                return WatchEvent(ERROR, _tree_decoder.decode(event.object))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnreadableAnswer(f"no watch event: {_shown(line)}: {error}") from error
        return WatchEvent(event.type, self.decode_object(event.object))

    def _list_slowly(self, raw: bytes) -> _Listed[T]:
        read = _tree(raw)
        items = read.get("items") if isinstance(read, dict) else None
        if not isinstance(read, dict) or not isinstance(items, list | None):
            raise UnreadableAnswer(f"no list of {self._info.name}: {_shown(raw)}")
        metadata = fit(read.get("metadata") or {}, ListMeta)
        return _Listed([self._fitted(item) for item in items or ()], metadata)

    def _fitted(self, read: Any) -> T:
        try:
            return fit(read, self._model)  # type: ignore[no-any-return]
        except msgspec.ValidationError as error:
            raise UnreadableAnswer(f"no {self._info.kind} as {self._model.__name__} says: {error}") from error

    def _say_kind(self, items: list[Any]) -> None:
        """Items of a list do not say their kind; the list does (upstream's ``UnstructuredList``)."""
        for item in items:
            item.setdefault("apiVersion", self._info.api_version)
            item.setdefault("kind", self._info.kind)


def decoding_of(resource: ResourceType[T]) -> Decoding[T]:
    """The decoders of a resource; making them reads the type hints of its class once."""
    return _made(resource)


@cache
def _made(resource: ResourceType[Any]) -> Decoding[Any]:
    return Decoding(resource)


def _tree(raw: bytes) -> Any:
    try:
        return _tree_decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableAnswer(f"no JSON: {_shown(raw)}: {error}") from error


def _shown(raw: bytes) -> str:
    text = raw[:_SHOWN_BYTES].decode("utf-8", "replace")
    return f"{text} …" if len(raw) > _SHOWN_BYTES else text
