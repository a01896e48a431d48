"""Objects, lists and events in protobuf.

An entry keeps its message as an item of a list (``0x12``, length, message), encoded on first use. Lists join items, a
whole object and the object of an event are an item's message between the parts of an envelope; nothing is encoded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.endpoints.list_streams import PIECE_BYTES, PIECE_OBJECTS, joined_items
from steersman.apiserver.endpoints.negotiation import Shape
from steersman.apiserver.workers import LARGE_BYTES, in_worker
from steersman.schema.protobuf import ENVELOPE_END, enclosed, encoder_for, envelope_head
from steersman.schema.protobuf_encoding import encoder_of, length

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.endpoints.negotiation import Form
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.served import ServedResource
    from steersman.schema.protobuf_encoding import MessageEncoder

#: Field 2 of every list (``items``), field 1 of every list (``metadata``).
_ITEM_TAG: Final = b"\x12"
_METADATA_TAG: Final = b"\x0a"
_LIST_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_METADATA_V1BETA1: Final = "meta.k8s.io/v1beta1"


class ProtobufView:
    """Protobuf encoding of the objects of a resource in one shape."""

    def __init__(self, served: ServedResource, form: Form) -> None:
        self._served = served
        resource = served.resource
        self._is_metadata = form.shape is not Shape.OBJECT
        if self._is_metadata:
            self._api_version = form.meta_version
            self._kind, self._list_kind = str(Shape.METADATA), str(Shape.METADATA_LIST)
        else:
            self._api_version, self._kind, self._list_kind = resource.api_version, resource.kind, served.list_kind
        #: ``meta.k8s.io/v1beta1`` swaps the numbers of the two fields of a list.
        self._items_first = self._is_metadata and form.meta_version == _METADATA_V1BETA1
        self._encoder: MessageEncoder = encoder_for(self._api_version, self._kind)
        # The metadata of an object is the same in all versions.
        self._name = self._kind if self._is_metadata else self._api_version

    def item(self, entry: Entry) -> bytes:
        """Return the object as an element of a list."""
        return entry.encoded(self._name, self._encoded_item)

    def _encoded_item(self, entry: Entry) -> bytes:
        raw = self._encoder.encode(self._served.tree(entry))
        return _ITEM_TAG + length(len(raw)) + raw

    def whole(self, entry: Entry) -> bytes:
        """Return the object with its envelope: the response to a GET, or the object of an event."""
        item = self.item(entry)
        start = 2
        while item[start - 1] & 0x80:
            start += 1
        return envelope_head(self._api_version, self._kind, len(item) - start) + item[start:] + ENVELOPE_END

    def whole_of(self, tree: Tree) -> bytes:
        """Encode a tree in the version served that is not stored (a dry run, a bookmark), as ``whole``."""
        return enclosed(self._api_version, self._kind, self._encoder.encode(tree))

    async def encode_list(self, entries: list[Entry], metadata: Tree) -> tuple[int, AsyncIterator[bytes]]:
        """Return the size of a list and its pieces. Other requests run while objects are encoded, and between pieces."""
        items = await self._items(entries)
        raw = encoder_of(_LIST_META).encode(metadata)
        list_meta = (_ITEM_TAG if self._items_first else _METADATA_TAG) + length(len(raw)) + raw
        items_size = sum([len(item) for item in items])
        head = envelope_head(self._api_version, self._list_kind, len(list_meta) + items_size)
        size = len(head) + len(list_meta) + items_size + len(ENVELOPE_END)
        if self._items_first:
            items = [_METADATA_TAG + item[1:] for item in items]
            return size, joined_items(self._served, head, items, list_meta + ENVELOPE_END)
        return size, joined_items(self._served, head + list_meta, items, ENVELOPE_END)

    async def _items(self, entries: list[Entry]) -> list[bytes]:
        items: list[bytes] = []
        clock = self._served.clock
        name, item_of = self._name, self.item
        left, objects = PIECE_BYTES, PIECE_OBJECTS
        for entry in entries:
            if not entry.has_encoded(name):
                size = len(entry.raw)
                if size > LARGE_BYTES:
                    items.append(await in_worker(item_of, entry))
                    continue
                if left <= 0 or objects <= 0:
                    await clock.sleep(0)
                    left, objects = PIECE_BYTES, PIECE_OBJECTS
                left -= size
                objects -= 1
            items.append(item_of(entry))
        return items
