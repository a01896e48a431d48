"""Views of objects in JSON: the object, its metadata alone, or a row of a Table.

The views work on entries and, where nothing has to be decoded, on their bytes. ``representation`` makes answers of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.apimachinery.codec import encode
from steersman.apimachinery.errors import Reason, bad_request, failure
from steersman.apimachinery.field import invalid
from steersman.apiserver.endpoints.negotiation import Shape
from steersman.apiserver.generic.entry import object_head
from steersman.schema.decoding import zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.errors import StatusError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.endpoints.negotiation import Form
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.generic.strategy import Column


class View(Protocol):
    """Encoding of the objects of a resource in one shape."""

    #: Items of lists are the entries' own bytes.
    is_raw: bool

    def item(self, entry: Entry) -> bytes:
        """Return the object as an element of a list."""

    def whole(self, entry: Entry) -> bytes:
        """Return the whole object: the response to a GET, or the object of an event."""

    def whole_of(self, tree: Tree) -> bytes:
        """Encode a tree in the version served that is not stored (a dry run, a bookmark), as ``whole``."""

    def list_ends(self, metadata: Tree, *, is_empty: bool) -> tuple[bytes, bytes]:
        """Return the bytes before and after the elements of a list."""


class ObjectView:
    """View of whole objects."""

    def __init__(self, served: ServedResource) -> None:
        self._served = served
        self.is_raw = served.from_storage is None and not served.is_custom

    def item(self, entry: Entry) -> bytes:
        served = self._served
        if self.is_raw:
            return entry.raw
        if served.is_custom:
            return served.object_bytes(entry)
        tree = served.tree(entry)
        del tree["kind"], tree["apiVersion"]  # lists of built-in kinds say it once
        return encode(tree)

    def whole(self, entry: Entry) -> bytes:
        return self._served.object_bytes(entry)

    def whole_of(self, tree: Tree) -> bytes:
        return encode(tree)

    def list_ends(self, metadata: Tree, *, is_empty: bool) -> tuple[bytes, bytes]:
        del is_empty
        served = self._served
        if served.is_custom:
            metadata = {"continue": "", **metadata}
        head = object_head(served.list_kind, served.resource.api_version)
        return b'%b"metadata":%b,"items":[' % (head, encode(metadata)), b"]}"


class _RawMetadata(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_decode_metadata: Final = msgspec.json.Decoder(_RawMetadata).decode


class MetadataView:
    """View as ``PartialObjectMetadata``, the same kind for all resources."""

    is_raw = False

    def __init__(self, served: ServedResource, api_version: str) -> None:
        self._served = served
        self._api_version = api_version
        self._head = object_head(Shape.METADATA, api_version) + b'"metadata":'

    def item(self, entry: Entry) -> bytes:
        served = self._served
        if served.from_storage is not None:
            return self.whole_of(served.tree(entry))
        return b"%b%b}" % (self._head, bytes(_decode_metadata(entry.raw).metadata))

    def whole(self, entry: Entry) -> bytes:
        return self.item(entry)

    def whole_of(self, tree: Tree) -> bytes:
        return b"%b%b}" % (self._head, encode(tree["metadata"]))

    def list_ends(self, metadata: Tree, *, is_empty: bool) -> tuple[bytes, bytes]:
        head = object_head(Shape.METADATA_LIST, self._api_version)
        # Go's slice is nil when nothing was appended to it.
        brackets = (b"null", b"}") if is_empty else (b"[", b"]}")
        return b'%b"metadata":%b,"items":%b' % (head, encode(metadata), brackets[0]), brackets[1]


class TableView:
    """View as rows of a Table, each with the object, its metadata, or neither (``includeObject``)."""

    is_raw = False

    def __init__(self, served: ServedResource, api_version: str, *, include: str) -> None:
        self._served = served
        self._head = object_head(Shape.TABLE, api_version)
        self._object: View | None = None
        if include == "Object":
            self._object = ObjectView(served)
        elif include != "None":
            self._object = MetadataView(served, api_version)

    def item(self, entry: Entry) -> bytes:
        shown = b"null" if self._object is None else self._object.whole(entry)
        return self._row(self._served.layout.tree(entry), shown)

    def in_row_order(self, entries: list[Entry]) -> list[Entry]:
        """Return the entries of a list in the order of its rows."""
        served = self._served
        if not served.strategy.sorts_rows:
            return entries
        return sorted(entries, key=lambda entry: served.strategy.row_sort_key(served.layout.tree(entry)))

    def whole(self, entry: Entry) -> bytes:
        version = str(entry.revision) if entry.revision else ""  # what is never stored has none
        return self._table(version, self.item(entry), columns=True)

    def whole_of(self, tree: Tree) -> bytes:
        return self._table(tree["metadata"].get("resourceVersion", ""), self._row_of(tree), columns=True)

    def event(self, entry: Entry, *, is_first: bool) -> bytes:
        """Return the object of an event; only the first Table of a watch has column definitions."""
        return self._table(str(entry.revision), self.item(entry), columns=is_first)

    def event_of(self, tree: Tree, *, is_first: bool) -> bytes:
        """Return a tree as the object of an event; only the first Table of a watch has column definitions."""
        return self._table(tree["metadata"].get("resourceVersion", ""), self._row_of(tree), columns=is_first)

    def list_ends(self, metadata: Tree, *, is_empty: bool) -> tuple[bytes, bytes]:
        del is_empty
        return b'%b"metadata":%b,"columnDefinitions":%b,"rows":[' % (
            self._head,
            encode(metadata),
            self._columns(),
        ), b"]}"

    def _table(self, version: str, row: bytes, *, columns: bool) -> bytes:
        metadata = {"resourceVersion": version} if version else {}
        definitions = self._columns() if columns else b"null"
        return b'%b"metadata":%b,"columnDefinitions":%b,"rows":[%b]}' % (self._head, encode(metadata), definitions, row)

    def _row_of(self, tree: Tree) -> bytes:
        shown = b"null" if self._object is None else self._object.whole_of(tree)
        to_storage = self._served.to_storage
        return self._row(tree if to_storage is None else to_storage(tree), shown)

    def _row(self, tree: Tree, shown: bytes) -> bytes:
        strategy = self._served.strategy
        conditions = strategy.row_conditions(tree)
        return b'{"cells":%b,%b"object":%b}' % (
            encode(strategy.cells(tree, self._served.clock.now())),
            b'"conditions":%b,' % encode(conditions) if conditions else b"",
            shown,
        )

    def _columns(self) -> bytes:
        return _definitions(self._served.strategy.columns)


def _definitions(columns: Iterable[Column]) -> bytes:
    rows: list[dict[str, Any]] = [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.text(),
            "priority": column.priority,
        }
        for column in columns
    ]
    return encode(rows)


def tree_bytes(tree: Tree, form: Form, *, columns: Sequence[Column], cells: list[Any], include: str) -> bytes:
    """Return a tree of a kind without a resource of its own (a Scale) in the requested shape. Raises as ``view_of``."""
    match form.shape:
        case Shape.OBJECT:
            return encode(tree)
        case Shape.METADATA_LIST:
            raise _unfit(form.shape, f"is not a list (*{tree['apiVersion'].partition('/')[0]}.{tree['kind']})")
        case Shape.METADATA:
            return _partial(tree, form.meta_version)
        case Shape.TABLE:
            _check_include(include)
            shown = {"Object": encode(tree), "None": b"null"}.get(include) or _partial(tree, form.meta_version)
            row = b'{"cells":%b,"object":%b}' % (encode(cells), shown)
            metadata = encode({"resourceVersion": tree["metadata"].get("resourceVersion", "")})
            head = object_head(Shape.TABLE, form.meta_version)
            return b'%b"metadata":%b,"columnDefinitions":%b,"rows":[%b]}' % (head, metadata, _definitions(columns), row)


def _partial(tree: Tree, api_version: str) -> bytes:
    return b'%b"metadata":%b}' % (object_head(Shape.METADATA, api_version), encode(tree["metadata"]))


def _check_include(include: str) -> None:
    if include not in ("", "Metadata", "Object", "None"):
        fault = invalid("includeObject", include, "must be 'Metadata', 'Object', 'None', or empty")
        raise bad_request(f"Unable to convert to Table as requested: {fault}")


def _unfit(shape: Shape, reason: str) -> StatusError:
    return failure(406, Reason.NOT_ACCEPTABLE, f"you requested {shape}, but the requested object {reason}")


def view_of(served: ServedResource, form: Form, *, include: str = "", is_list: bool = False) -> View:
    """Return the view of a form. Raises 406 for a list requested as an object, or an object requested as a list."""
    match form.shape:
        case Shape.OBJECT:
            return ObjectView(served)
        case Shape.TABLE:
            _check_include(include)
            return TableView(served, form.meta_version, include=include)
        case Shape.METADATA | Shape.METADATA_LIST:
            if is_list != (form.shape is Shape.METADATA_LIST):
                raise _unfit(form.shape, f"is {'' if is_list else 'not '}a list ({_go_type(served, is_list=is_list)})")
            return MetadataView(served, form.meta_version)


def _go_type(served: ServedResource, *, is_list: bool) -> str:
    """Return the name of upstream's Go type of the objects, or of lists of them."""
    if served.is_custom:
        return f"*unstructured.Unstructured{'List' if is_list else ''}"
    resource = served.resource
    group = (resource.storage_api_version or resource.api_version).rpartition("/")[0].partition(".")[0]
    return f"*{group or 'core'}.{served.list_kind if is_list else resource.kind}"


def bookmark_tree(served: ServedResource, revision: int, *, ends_initial_events: bool) -> Tree:
    """Return an object of the watched kind with only a resourceVersion."""
    metadata: Tree = {"resourceVersion": str(revision)}
    if ends_initial_events:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    blank = zero(served.struct) if served.struct is not None else {}
    resource = served.resource
    return {**blank, "kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
