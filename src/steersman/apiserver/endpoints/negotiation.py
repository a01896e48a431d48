"""Content negotiation by ``Accept``, ``Accept-Encoding`` and ``pretty``.

Served are JSON and YAML of everything, protobuf of everything but Tables and custom objects (of these, metadata alone), with
a feature gate CBOR of everything but Tables, and Tables and metadata alone of every resource. A clause of ``Accept`` that cannot
be met is passed over for the next one; when none can be met the answer is 406, before anything is looked up.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.errors import Reason, failure, not_acceptable
from steersman.apimachinery.text_cache import text_cache
from steersman.schema.protobuf import MEDIA_TYPE

if TYPE_CHECKING:
    from steersman.apimachinery.errors import StatusError
    from steersman.apiserver.http import Request


class Media(StrEnum):
    """Encoding of a response."""

    JSON = "application/json"
    YAML = "application/yaml"
    PROTOBUF = MEDIA_TYPE
    CBOR = "application/cbor"


class Shape(StrEnum):
    """Shape of a response; the value is the kind in the parameter ``as``."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


class Form(msgspec.Struct, frozen=True):
    """The negotiated form of an answer."""

    media: Media = Media.JSON
    shape: Shape = Shape.OBJECT
    #: ``meta.k8s.io/v1`` or ``v1beta1``: the apiVersion of Tables and metadata.
    meta_version: str = "meta.k8s.io/v1"
    #: Indented JSON.
    pretty: bool = False


class _Clause(msgspec.Struct, frozen=True):
    type: str
    subtype: str
    params: dict[str, str]
    quality: float


PLAIN: Final = Form()
_META_VERSIONS: Final = {"v1": "meta.k8s.io/v1", "v1beta1": "meta.k8s.io/v1beta1"}
_LINES: Final = Form(pretty=True)
#: Cache of negotiated forms by ``Accept``, up to this length, and the other inputs.
_forms: Final = BoundedCache[Form](entries_max=256)
_CACHED_ACCEPT_MAX: Final = 512
_OFFERED: Final = (Media.JSON, Media.YAML, Media.PROTOBUF)
_OFFERED_OF_CUSTOM: Final = (Media.JSON, Media.YAML)
_STREAMED: Final = (f"{Media.JSON};stream=watch", f"{Media.PROTOBUF};stream=watch")
_STREAMED_OF_CUSTOM: Final = (f"{Media.JSON};stream=watch",)
_ROUTED: Final = frozenset({*_OFFERED, "*/*"})
#: Media type of the events of a watch in CBOR.
CBOR_SEQUENCE: Final = "application/cbor-seq"


def negotiate(request: Request, *, stream: bool = False, is_custom: bool = False, has_table: bool = True) -> Form:
    """Return the form of the answer; with ``stream``, of the events of a watch. Raises 406.

    ``has_table``: False for kinds that are posted and have no Table (reviews, TokenRequest, Binding, Eviction).
    """
    accept = request.header(b"accept")
    offers_cbor = request.offers_cbor
    key = accept, stream, is_custom, has_table, offers_cbor
    form = _forms.get(key)
    if form is None:
        form = _negotiated(accept, offers_cbor, stream=stream, is_custom=is_custom, has_table=has_table)
        if form is None:
            raise _refused(accept, offers_cbor, stream=stream, is_custom=is_custom)
        if len(accept) <= _CACHED_ACCEPT_MAX:
            _forms.put(key, form)
    if not form.pretty and form.media is Media.JSON and not stream and request.wants_indentation:
        return msgspec.structs.replace(form, pretty=True)
    return form


def negotiate_status(request: Request) -> Form:
    """Return the form of an error; never raises."""
    accept = request.header(b"accept")
    form = _negotiated_status_with_cbor(accept) if request.offers_cbor else _negotiated_status(accept)
    if form is None:
        return _LINES
    if not form.pretty and form.media is Media.JSON and request.wants_indentation:
        return _LINES
    return form


def _refused(accept: str, offers_cbor: bool, *, stream: bool, is_custom: bool) -> StatusError:  # noqa: FBT001 — see _negotiated
    """Return the 406 of a built-in kind, whose routes check the header before the endpoint does."""
    if not is_custom and not _has_route(accept, offers_cbor):
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(_offered(offers_cbor))}"
        return failure(406, Reason.NOT_ACCEPTABLE, message, details={})
    if stream:
        streamed = _STREAMED_OF_CUSTOM if is_custom else _STREAMED
        return not_acceptable((*streamed, CBOR_SEQUENCE) if offers_cbor else streamed)
    offered: tuple[Media, ...] = _OFFERED_OF_CUSTOM if is_custom else _OFFERED
    return not_acceptable((*offered, Media.CBOR) if offers_cbor else offered)


def _offered(offers_cbor: bool) -> tuple[Media, ...]:  # noqa: FBT001 — see _negotiated
    return (*_OFFERED, Media.CBOR) if offers_cbor else _OFFERED


def _has_route(accept: str, offers_cbor: bool) -> bool:  # noqa: FBT001 — see _negotiated
    """Report whether a media type of the header is served; ``application/*`` is not."""
    media_types = {part.partition(";")[0].strip() for part in accept.split(",")}
    return not accept or not media_types.isdisjoint(_ROUTED) or (offers_cbor and Media.CBOR in media_types)


def accepts_gzip(request: Request) -> bool:
    """Report whether the response may be compressed."""
    return any(token.strip() == "gzip" for token in request.header(b"accept-encoding").split(","))


def _negotiated(
    accept: str,
    offers_cbor: bool,  # noqa: FBT001 — a fact about the server, as ``accept`` is one about the client
    *,
    stream: bool,
    is_custom: bool,
    has_table: bool,
) -> Form | None:
    if not accept:
        return PLAIN
    if not is_custom and not _has_route(accept, offers_cbor):
        return None
    offered = _offered(offers_cbor)
    for clause in _clauses(accept):
        for media in offered:
            form = _matched(clause, media)
            if form is not None and form.shape is Shape.TABLE and not has_table:
                continue
            if form is not None and (media is not Media.PROTOBUF or _in_protobuf(form, is_custom=is_custom)):
                # YAML has no stream; upstream fails here instead of trying the next clause.
                return None if stream and media is Media.YAML else form
    return None


@text_cache(256, length_max=_CACHED_ACCEPT_MAX)
def _negotiated_status(accept: str) -> Form | None:
    return _status_form(accept, _OFFERED)


@text_cache(256, length_max=_CACHED_ACCEPT_MAX)
def _negotiated_status_with_cbor(accept: str) -> Form | None:
    return _status_form(accept, _offered(offers_cbor=True))


def _status_form(accept: str, offered: tuple[Media, ...]) -> Form | None:
    if not accept:
        return PLAIN
    for clause in _clauses(accept):
        for media in offered:
            form = _matched(clause, media)
            if form is not None and form.shape is Shape.OBJECT:
                return form
    return None


def _in_protobuf(form: Form, *, is_custom: bool) -> bool:
    """Report whether objects have this form in protobuf: custom ones have no message of their own."""
    return not is_custom or form.shape in (Shape.METADATA, Shape.METADATA_LIST)


def _matched(clause: _Clause, media: Media) -> Form | None:
    """Return the form if the clause accepts the media type and its parameters are supported."""
    main, _, sub = media.partition("/")
    if (
        clause.type not in (main, "*")
        or clause.subtype not in (sub, "*")
        or (clause.type == "*") > (clause.subtype == "*")
    ):
        return None
    params = clause.params
    if (stream := params.get("stream")) and (stream != "watch" or media is Media.YAML):
        return None
    shape, version = Shape.OBJECT, PLAIN.meta_version
    if not params.keys().isdisjoint(("as", "g", "v")):
        version = _META_VERSIONS.get(params.get("v", ""), "")
        if params.get("g") != "meta.k8s.io" or not version or params.get("as") not in _SHAPES:
            return None
        shape = Shape(params["as"])
    if shape is Shape.TABLE and media in (Media.PROTOBUF, Media.CBOR):
        return None
    is_pretty = params.get("pretty") == "1"
    if media is Media.JSON and shape is Shape.OBJECT and version == PLAIN.meta_version and not is_pretty:
        return PLAIN  # so that the common case is compared by identity
    return Form(media, shape, version, pretty=is_pretty)


_SHAPES: Final = frozenset({Shape.TABLE, Shape.METADATA, Shape.METADATA_LIST})


def _clauses(accept: str) -> list[_Clause]:
    """Return the clauses, best first, without malformed ones."""
    clauses = []
    for part in accept.split(","):
        media, *params = part.split(";")
        main, slash, sub = (text.strip() for text in media.partition("/"))
        if not slash and main == "*":
            sub = "*"
        elif not sub or "/" in sub:
            continue
        pairs = [param.partition("=") for param in params]
        values = {key.strip(): value.strip() for key, _, value in pairs if value and "=" not in value}
        clauses.append(_Clause(main, sub, values, _quality(values.pop("q", ""))))
    clauses.sort(key=lambda clause: (-clause.quality, clause.type == "*", clause.subtype == "*"))
    return clauses


def _quality(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0
