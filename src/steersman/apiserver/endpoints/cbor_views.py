"""Objects and events of watches in CBOR: the views in JSON, encoded again.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/watch.go, and the stream serializer of
staging/src/k8s.io/apimachinery/pkg/runtime/serializer/cbor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from steersman.apimachinery.cbor import SELF_DESCRIBED, encode, encode_map, encode_object
from steersman.apiserver.endpoints.negotiation import CBOR_SEQUENCE
from steersman.apiserver.generic.change_ring import EventType
from steersman.apiserver.generic.feed import Framing

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry

#: Media type of a watch; one event is a data item of it.
STREAM_TYPE: Final = CBOR_SEQUENCE.encode()

_decode: Final = msgspec.json.Decoder().decode
_TYPES: Final = {type_: encode(type_.value) for type_ in EventType}


class JSONView(Protocol):
    """A view whose objects are JSON."""

    def whole(self, entry: Entry) -> bytes: ...

    def whole_of(self, tree: Tree) -> bytes: ...


class CBORView:
    """View of whole objects in CBOR."""

    def __init__(self, view: JSONView) -> None:
        self._view: Final = view

    def whole(self, entry: Entry) -> bytes:
        return encode_object(_decode(self._view.whole(entry)))

    def whole_of(self, tree: Tree) -> bytes:
        return encode_object(_decode(self._view.whole_of(tree)))


def event_item(type_: EventType, obj: bytes) -> bytes:
    """Return an event as one data item; ``obj`` is an encoded object."""
    return SELF_DESCRIBED + encode_map((("type", _TYPES[type_]), ("object", obj)))


def _delimited_item(type_: EventType, obj: bytes) -> bytes:
    item = event_item(type_, obj)
    return len(item).to_bytes(4, "big") + item


_SEQUENCE: Final = Framing(event_item, encode_object)
_DELIMITED: Final = Framing(_delimited_item, encode_object)


def framing(*, is_delimited: bool) -> Framing:
    """Return the encoding of events: a sequence of items, or length-delimited items for messages of a WebSocket."""
    return _DELIMITED if is_delimited else _SEQUENCE
