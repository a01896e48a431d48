"""Decoding of responses directly into structs, without an intermediate tree.

Go encoders write ``null`` for an empty list and omit empty values even where the API declares a field required, which
structs reject. These objects are decoded a second time, more slowly, with Go's zero values filled in (``zero_values``).
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from steersman.client.errors import UnexpectedResponse
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

#: Length of an excerpt in an error message.
_EXCERPT_BYTES: Final = 80


class ListMeta(msgspec.Struct, frozen=True):
    """``metav1.ListMeta``, as far as clients need it."""

    resourceVersion: str = ""  # noqa: N815 — as on the wire
    continue_: str = msgspec.field(name="continue", default="")
    remainingItemCount: int | None = None  # noqa: N815 — as on the wire


class ObjectList(list[T]):
    """Items of a list response, with the list's metadata."""

    def __init__(self, items: list[T], metadata: ListMeta) -> None:
        super().__init__(items)
        #: Version of the whole list; a watch may start from it.
        self.resource_version = metadata.resourceVersion
        #: Empty on the last page.
        self.continue_token = metadata.continue_
        self.remaining_item_count = metadata.remainingItemCount


class WatchEvent(msgspec.Struct, Generic[T]):
    """One watch event. The object of a bookmark is a ``Bookmark``; the object of an ``ERROR`` is a Status as a tree."""

    type: str
    object: T


class _List(msgspec.Struct, Generic[T]):
    items: list[T] | None = None
    metadata: ListMeta = ListMeta()


class _RawEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class BookmarkMeta(msgspec.Struct):
    """Metadata of a bookmark."""

    resourceVersion: str = ""  # noqa: N815 — as on the wire
    annotations: dict[str, str] | None = None


class Bookmark(msgspec.Struct):
    """Resource version that the stream has reached."""

    metadata: BookmarkMeta = msgspec.field(default_factory=BookmarkMeta)

    @property
    def ends_initial_events(self) -> bool:
        """True if all initial events of a streaming list have been sent (KEP-3157)."""
        return (self.metadata.annotations or {}).get("k8s.io/initial-events-end") == "true"


_tree_decoder: Final = msgspec.json.Decoder()
_raw_event_decoder: Final = msgspec.json.Decoder(_RawEvent)
_bookmark_decoder: Final = msgspec.json.Decoder(Bookmark)


class Decoding(Generic[T]):
    """Decoders for the objects of one resource; cached per resource (``decoding_of``)."""

    def __init__(self, resource: ResourceType[T]) -> None:
        self._info = resource.info
        self._model: Any = resource.model
        self._is_tree = resource.is_tree

    # Each is created with the first value to decode: that reads the type hints of the class and of all classes in it, and a
    # controller watches many kinds of which a cluster has no objects.

    @cached_property
    def _object(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self._model)

    @cached_property
    def _list(self) -> msgspec.json.Decoder[Any]:
        model: Any = self._model
        return msgspec.json.Decoder(_List[model])

    @cached_property
    def _event(self) -> msgspec.json.Decoder[Any]:
        model: Any = self._model
        return msgspec.json.Decoder(WatchEvent[model])

    def decode_object(self, raw: bytes | msgspec.Raw) -> T:
        """Decode one object. Raises UnexpectedResponse."""
        try:
            return self._object.decode(raw)  # type: ignore[no-any-return]
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return self._with_zero_values(_tree(bytes(raw)))

    def decode_list(self, raw: bytes) -> ObjectList[T]:
        """Decode a whole list. Raises UnexpectedResponse."""
        try:
            with gc_paused(len(raw)):
                decoded = self._list.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            decoded = self._list_with_zero_values(raw)
        items = decoded.items or []
        if self._is_tree:
            self._set_kind(items)
        return ObjectList(items, decoded.metadata)

    def decode_event(self, line: bytes) -> WatchEvent[Any]:
        """Decode one line of a watch stream. Raises UnexpectedResponse.

        The object of a bookmark is a ``Bookmark``, the object of an error a tree.
        """
        # Servers write the type first, so most lines are decoded in one pass.
        if line.startswith((b'{"type":"ADDED"', b'{"type":"MODIFIED"', b'{"type":"DELETED"')):
            try:
                return self._event.decode(line)  # type: ignore[no-any-return]
            except (msgspec.MsgspecError, UnicodeDecodeError):
                pass  # decoded below, in two passes
        try:
            event = _raw_event_decoder.decode(line)
            if event.type == BOOKMARK:
                return WatchEvent(BOOKMARK, _bookmark_decoder.decode(event.object))
            if event.type == ERROR:
                return WatchEvent(ERROR, _tree_decoder.decode(event.object))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnexpectedResponse(f"no watch event: {_excerpt(line)}: {error}") from error
        return WatchEvent(event.type, self.decode_object(event.object))

    def _list_with_zero_values(self, raw: bytes) -> _List[T]:
        decoded = _tree(raw)
        items = decoded.get("items") if isinstance(decoded, dict) else None
        if not isinstance(decoded, dict) or not isinstance(items, list | None):
            raise UnexpectedResponse(f"no list of {self._info.name}: {_excerpt(raw)}")
        metadata = fit(decoded.get("metadata") or {}, ListMeta)
        return _List([self._with_zero_values(item) for item in items or ()], metadata)

    def _with_zero_values(self, decoded: Any) -> T:
        try:
            return fit(decoded, self._model)  # type: ignore[no-any-return]
        except msgspec.ValidationError as error:
            raise UnexpectedResponse(f"no {self._info.kind} as {self._model.__name__} says: {error}") from error

    def _set_kind(self, items: list[Any]) -> None:
        """Set ``apiVersion`` and ``kind``, which list items omit. Upstream: ``unstructured.UnstructuredList``."""
        for item in items:
            item.setdefault("apiVersion", self._info.api_version)
            item.setdefault("kind", self._info.kind)


def decoding_of(resource: ResourceType[T]) -> Decoding[T]:
    """Return the decoders of a resource; the same ones for each caller."""
    return _cached_decoding(resource)


@cache
def _cached_decoding(resource: ResourceType[Any]) -> Decoding[Any]:
    return Decoding(resource)


def _tree(raw: bytes) -> Any:
    try:
        return _tree_decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnexpectedResponse(f"no JSON: {_excerpt(raw)}: {error}") from error


def _excerpt(raw: bytes) -> str:
    text = raw[:_EXCERPT_BYTES].decode("utf-8", "replace")
    return f"{text} …" if len(raw) > _EXCERPT_BYTES else text
