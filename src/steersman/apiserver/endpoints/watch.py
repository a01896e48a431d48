"""GET with ``watch``: a stream of events from now, from a resource version, or after the current state.

The answer's head goes out at once; whatever has to be waited for, and whatever goes wrong from then on, is sent in the
stream (an ERROR event that holds a Status), as upstream does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import plain_error
from steersman.apiserver.endpoints.list_options import list_options
from steersman.apiserver.endpoints.negotiation import Media, Shape, negotiate
from steersman.apiserver.endpoints.protobuf_views import ProtobufView
from steersman.apiserver.endpoints.views import TableView, view_of
from steersman.apiserver.endpoints.watch_stream import WatchStream
from steersman.apiserver.generic.feed import PROTOBUF_FRAMING, Feed, shared_feed
from steersman.apiserver.generic.listing import parse_version
from steersman.apiserver.http import Response
from steersman.apiserver.websocket import is_websocket, watch_over_websocket

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.endpoints.negotiation import Form
    from steersman.apiserver.endpoints.watch_stream import EventView
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.feed import Framing
    from steersman.apiserver.generic.listing import ListOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request

_PROTOBUF_STREAM: Final = f"{Media.PROTOBUF};stream=watch".encode()


async def watch(served: ServedResource, request: Request) -> Response:
    """Return the stream of events. Raises 400, 406, 422, and 500 for an invalid resourceVersion."""
    negotiate(request, is_custom=served.is_custom)
    options = await list_options(served, request, watch=True)
    form = negotiate(request, stream=True, is_custom=served.is_custom)
    try:
        revision = parse_version(options.resource_version)
    except ValueError as error:
        raise plain_error(str(error)) from None
    view = view_of(served, form, include=request.param("includeObject"))
    if not served.cache.is_ready:
        await served.cache.ready()
    shown: EventView = _TableEvents(view) if isinstance(view, TableView) else view
    content_type = b"application/json"
    framing: Framing | None = None
    if form.media is Media.PROTOBUF:
        shown, framing = ProtobufView(served, form), PROTOBUF_FRAMING
        content_type = _PROTOBUF_STREAM
    elif form.media is Media.CBOR:
        from steersman.apiserver.endpoints import cbor_views  # noqa: PLC0415 — behind a feature gate

        shown, framing = cbor_views.CBORView(view), cbor_views.framing(is_delimited=is_websocket(request))
        content_type = cbor_views.STREAM_TYPE
    if served.conversions is not None:
        from steersman.apiserver.endpoints.converting_watch import ConvertingWatchStream  # noqa: PLC0415 — a subclass

        stream: WatchStream = ConvertingWatchStream(
            served, served.conversions, shown, framing=framing, options=options, revision=revision
        )
    else:
        feed = _feed(served, options, form, shown, framing)
        stream = WatchStream(served, feed, shown, options=options, revision=revision)
    stream.begin_now()
    if is_websocket(request):
        return watch_over_websocket(request, stream, is_binary=framing is not None)
    return Response(200, stream=stream, content_type=content_type)


def _feed(served: ServedResource, options: ListOptions, form: Form, view: EventView, framing: Framing | None) -> Feed:
    cache, selection, counts = served.cache, options.selection, served.watch_counts
    if isinstance(view, _TableEvents):
        return Feed(cache, selection, whole=view.whole, head=None, counts=counts)
    if framing is not None:
        identity = (*selection.identity, served.resource.api_version, form.shape, form.meta_version, framing)
        return shared_feed(
            cache.feeds,
            identity,
            lambda: Feed(cache, selection, whole=view.whole, head=None, framing=framing, counts=counts),
        )
    head = served.head if form.shape is Shape.OBJECT and served.from_storage is None else None
    identity = (*selection.identity, served.resource.api_version, form.shape, form.meta_version)
    return shared_feed(
        cache.feeds, identity, lambda: Feed(cache, selection, whole=view.whole, head=head, counts=counts)
    )


class _TableEvents:
    """Tables of one watch; only the first has column definitions."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        self._is_first = True

    def whole(self, entry: Entry) -> bytes:
        is_first, self._is_first = self._is_first, False
        return self._view.event(entry, is_first=is_first)

    def whole_of(self, tree: Tree) -> bytes:
        is_first, self._is_first = self._is_first, False
        return self._view.event_of(tree, is_first=is_first)
