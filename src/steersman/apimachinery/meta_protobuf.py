"""The few meta kinds that every client may ask for in protobuf: ``Status``, ``PartialObjectMetadata`` and its list.

Other kinds are served in JSON and YAML. Field numbers are those of ``k8s.io/apimachinery`` meta/v1 ``generated.proto``;
the envelope is ``runtime.Unknown`` behind the magic number.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.protowire import boolean, integer, length_delimited, string

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree


MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"


def encode(tree: Tree) -> bytes:
    """The whole answer for one of the kinds above; raises KeyError for any other kind."""
    raw = _KINDS[tree["kind"]](tree)
    type_meta = string(1, tree.get("apiVersion", "")) + string(2, tree["kind"])
    return _MAGIC + length_delimited(1, type_meta) + length_delimited(2, raw)


def _status(tree: Tree) -> bytes:
    pieces = [
        length_delimited(1, _list_meta(tree.get("metadata") or {})),
        string(2, tree.get("status", "")),
        string(3, tree.get("message", "")),
        string(4, tree.get("reason", "")),
    ]
    if "details" in tree:
        pieces.append(length_delimited(5, _details(tree["details"])))
    pieces.append(integer(6, tree.get("code", 0)))
    return b"".join(pieces)


def _details(tree: Tree) -> bytes:
    causes = (
        string(1, c.get("reason", "")) + string(2, c.get("message", "")) + string(3, c.get("field", ""))
        for c in tree.get("causes") or ()
    )
    return b"".join(
        [
            string(1, tree.get("name", "")),
            string(2, tree.get("group", "")),
            string(3, tree.get("kind", "")),
            *(length_delimited(4, cause) for cause in causes),
            integer(5, tree.get("retryAfterSeconds", 0)),
            string(6, tree.get("uid", "")),
        ]
    )


def _list_meta(tree: Tree) -> bytes:
    return (
        string(2, tree.get("resourceVersion", ""))
        + string(3, tree.get("continue", ""))
        + integer(4, tree.get("remainingItemCount") or 0)
    )


def _partial_object_metadata(tree: Tree) -> bytes:
    return length_delimited(1, _object_meta(tree["metadata"]))


def _partial_object_metadata_list(tree: Tree) -> bytes:
    items = b"".join(length_delimited(2, _partial_object_metadata(item)) for item in tree["items"])
    return length_delimited(1, _list_meta(tree["metadata"])) + items


def _object_meta(tree: Tree) -> bytes:
    pieces = [
        string(1, tree.get("name", "")),
        string(2, tree.get("generateName", "")),
        string(3, tree.get("namespace", "")),
        string(5, tree.get("uid", "")),
        string(6, tree.get("resourceVersion", "")),
        integer(7, tree.get("generation", 0)),
        _time(8, tree.get("creationTimestamp")),
        _time(9, tree.get("deletionTimestamp")),
        integer(10, tree.get("deletionGracePeriodSeconds") or 0),
        _map(11, tree.get("labels")),
        _map(12, tree.get("annotations")),
    ]
    pieces += [length_delimited(13, _owner_reference(owner)) for owner in tree.get("ownerReferences") or ()]
    pieces += [string(14, finalizer) for finalizer in tree.get("finalizers") or ()]
    pieces += [length_delimited(17, _managed_fields(entry)) for entry in tree.get("managedFields") or ()]
    return b"".join(pieces)


def _owner_reference(tree: Tree) -> bytes:
    return b"".join(
        [
            string(1, tree.get("kind", "")),
            string(3, tree.get("name", "")),
            string(4, tree.get("uid", "")),
            string(5, tree.get("apiVersion", "")),
            boolean(6, tree.get("controller") is True),
            boolean(7, tree.get("blockOwnerDeletion") is True),
        ]
    )


def _managed_fields(tree: Tree) -> bytes:
    fields = tree.get("fieldsV1")
    return b"".join(
        [
            string(1, tree.get("manager", "")),
            string(2, tree.get("operation", "")),
            string(3, tree.get("apiVersion", "")),
            _time(4, tree.get("time")),
            string(6, tree.get("fieldsType", "")),
            length_delimited(7, length_delimited(1, msgspec.json.encode(fields))) if fields is not None else b"",
            string(8, tree.get("subresource", "")),
        ]
    )


def _time(number: int, text: str | None) -> bytes:
    """``metav1.Time``: seconds since 1970; the nanoseconds are always 0."""
    if not text:
        return b""
    return length_delimited(number, integer(1, int(datetime.fromisoformat(text).timestamp())))


def _map(number: int, values: dict[str, str] | None) -> bytes:
    entries = sorted((values or {}).items())
    return b"".join(length_delimited(number, string(1, key) + string(2, value)) for key, value in entries)


_KINDS: Final[dict[str, Callable[[Tree], bytes]]] = {
    "Status": _status,
    "PartialObjectMetadata": _partial_object_metadata,
    "PartialObjectMetadataList": _partial_object_metadata_list,
}
