"""Responses in the negotiated form: one object, a list or a Status.

A plain JSON object is two pieces of bytes put together, a plain JSON list is a join of bytes; nothing is decoded. Long
lists are sent in pieces, with a pass of the event loop between two, and compressed in a thread.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.codec import encode, prettify
from steersman.apimachinery.json_parts import PARTS_BYTES, decode_in_parts
from steersman.apimachinery.yaml_codec import encode_yaml
from steersman.apiserver.endpoints.list_streams import (
    PIECE_BYTES,
    PIECE_OBJECTS,
    compressed,
    gzip,
    pieces_of,
    streamed,
)
from steersman.apiserver.endpoints.negotiation import PLAIN, Media, accepts_gzip, negotiate_status
from steersman.apiserver.endpoints.protobuf_views import ProtobufView
from steersman.apiserver.endpoints.views import TableView, tree_bytes, view_of
from steersman.apiserver.http import Response
from steersman.apiserver.workers import LARGE_BYTES, in_worker
from steersman.schema import protobuf

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from steersman.apimachinery.errors import StatusError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.endpoints.negotiation import Form
    from steersman.apiserver.endpoints.views import View
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.generic.strategy import Column
    from steersman.apiserver.http import Request

#: Larger responses are compressed if the client accepts it. Upstream: ``defaultGzipThresholdBytes``.
GZIP_ABOVE_BYTES: Final = 128 * 1024
#: Lists of larger objects are streamed even if they are short.
_STREAMED_BYTES: Final = 1024 * 1024
#: Larger objects are converted from compact JSON to other forms in a worker.
_INLINE_BYTES: Final = 32 * 1024

_GZIPPED: Final = [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
_CONTENT_TYPES: Final = {media: media.value.encode() for media in Media}
_decode: Final = msgspec.json.Decoder().decode


async def render_object(
    served: ServedResource, request: Request, obj: Entry | Tree, *, form: Form, code: int = 200
) -> Response:
    """Return the response with one object: an entry, or a tree in the version served that is not stored.

    Raises 406 for the form of a list, 400 for an ``includeObject`` that is none.
    """
    if form is PLAIN:
        if isinstance(obj, dict):
            body = encode(obj)
        elif len(obj.raw) > LARGE_BYTES and served.from_storage is not None:
            body = await in_worker(served.object_bytes, obj)
        else:
            body = served.object_bytes(obj)
        return Response(code, body) if len(body) <= GZIP_ABOVE_BYTES else await _whole(request, form, body, code=code)
    view: View | ProtobufView = view_of(served, form, include=request.param("includeObject"))
    is_protobuf = form.media is Media.PROTOBUF
    if is_protobuf:
        view = ProtobufView(served, form)
    if isinstance(obj, dict):
        body = view.whole_of(obj)
    elif len(obj.raw) > LARGE_BYTES:
        body = await in_worker(view.whole, obj)
    else:
        body = view.whole(obj)
    return await (_answer if is_protobuf else _whole)(request, form, body, code=code)


async def render_tree(
    request: Request,
    tree: Tree,
    *,
    form: Form,
    code: int = 200,
    columns: Sequence[Column] = (),
    cells: list[Any] | None = None,
) -> Response:
    """Return the response with a tree of another kind than the resource's: a Status, which has no other shape, or an object.

    Objects (a Scale) come with ``columns`` and ``cells`` and take every shape. Raises as ``render_object``.
    """
    if cells is None:
        return await _whole(request, form, encode(tree), code=code)
    include = request.param("includeObject")
    return await _whole(request, form, tree_bytes(tree, form, columns=columns, cells=cells, include=include), code=code)


async def render_list(
    served: ServedResource, request: Request, entries: list[Entry], *, form: Form, metadata: Tree
) -> Response:
    """Return the response with a list. ``metadata`` is its ListMeta. Raises as ``render_object``."""
    view = view_of(served, form, include=request.param("includeObject"), is_list=True)
    if form.media is Media.PROTOBUF:
        return await _protobuf_list(request, form, *await ProtobufView(served, form).encode_list(entries, metadata))
    if isinstance(view, TableView):
        entries = view.in_row_order(entries)
    size = sum([len(entry.raw) for entry in entries])
    streams = size > PIECE_BYTES if view.is_raw else len(entries) > PIECE_OBJECTS or size > _STREAMED_BYTES
    head, tail = view.list_ends(metadata, is_empty=not entries)
    if not streams or form.media is not Media.JSON:
        pieces = [piece async for piece in streamed(pieces_of(served, view, entries, size), head, tail, pretty=False)]
        return await _whole(request, form, b"".join(pieces) if entries else head + tail)
    stream = streamed(pieces_of(served, view, entries, size), head, tail, pretty=form.pretty)
    if accepts_gzip(request) and size > GZIP_ABOVE_BYTES:
        return Response(200, stream=compressed(stream), headers=_GZIPPED)
    if not view.is_raw or form.pretty:
        return Response(200, stream=stream)
    length = len(head) + size + len(entries) - 1 + len(tail)
    return Response(200, stream=stream, headers=[(b"content-length", b"%d" % length)])


async def _protobuf_list(request: Request, form: Form, size: int, pieces: AsyncIterator[bytes]) -> Response:
    """Return the response with a list of ``size`` bytes in protobuf."""
    content_type = _CONTENT_TYPES[form.media]
    if size <= PIECE_BYTES:
        return await _answer(request, form, b"".join([piece async for piece in pieces]))
    if accepts_gzip(request):
        return Response(200, stream=compressed(pieces), content_type=content_type, headers=_GZIPPED)
    length = [(b"content-length", b"%d" % size)]
    return Response(200, stream=pieces, content_type=content_type, headers=length)


def render_status(request: Request, error: StatusError) -> Response:
    """Return the response with an error in the form that the client accepts, or else in JSON."""
    form = negotiate_status(request)
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in error.headers.items()]
    content_type = _CONTENT_TYPES[form.media]
    return Response(error.code, _encoded(form, encode(error.status)), content_type=content_type, headers=headers)


async def _whole(request: Request, form: Form, body: bytes, *, code: int = 200) -> Response:
    """Return the response with a JSON text in the negotiated form, in one piece."""
    if form is not PLAIN and len(body) > _INLINE_BYTES:
        body = await in_worker(_encoded, form, body)
    else:
        body = _encoded(form, body)
    return await _answer(request, form, body, code=code)


async def _answer(request: Request, form: Form, body: bytes, *, code: int = 200) -> Response:
    """Return the response with a body in the negotiated form, in one piece."""
    headers = []
    if len(body) > GZIP_ABOVE_BYTES and accepts_gzip(request):
        body = await asyncio.to_thread(gzip, body)
        headers = _GZIPPED
    return Response(code, body, content_type=_CONTENT_TYPES[form.media], headers=headers)


def _encoded(form: Form, body: bytes) -> bytes:
    """Convert JSON to another form."""
    match form.media:
        case Media.JSON:
            return prettify(body) if form.pretty else body
        case Media.YAML:
            return encode_yaml(_tree(body))
        case Media.PROTOBUF:
            return protobuf.encode_body(_tree(body))
        case Media.CBOR:
            from steersman.apimachinery.cbor import encode_object  # noqa: PLC0415 — behind a feature gate

            return encode_object(_tree(body))


def _tree(body: bytes) -> Any:
    return _decode(body) if len(body) < PARTS_BYTES else decode_in_parts(body)
