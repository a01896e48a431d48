"""``/openapi/v2`` and ``/openapi/v3``. Upstream: ``kube-openapi/pkg/handler`` and ``handler3``."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.http import Response, page_not_found
from steersman.apiserver.openapi.cache import SWAGGER, DocumentCache
from steersman.apiserver.openapi.document import pieces
from steersman.apiserver.openapi.remote import merge

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.http import Request
    from steersman.apiserver.openapi.document import Document
    from steersman.apiserver.openapi.remote import RemoteDocuments, RemoteSwagger
    from steersman.apiserver.openapi.sources import CustomSchemas
    from steersman.asynckit.clock import Clock

    Headers = list[tuple[bytes, bytes]]

_JSON: Final = b"application/json"
#: Larger bodies are sent in pieces of this size, so that other requests are served in between.
_PIECE_BYTES: Final = 192 * 1024
#: Cache lifetime of documents at a URL with their hash.
_IMMUTABLE_FOR: Final = timedelta(days=365)
#: Accepted media type → (content type, is protobuf), by OpenAPI version. As upstream, names with ``@`` are accepted.
_FORMS: Final[dict[int, dict[str, tuple[bytes, bool]]]] = {
    version: {
        "application/json": (_JSON, False),
        **dict.fromkeys(
            (
                f"application/com.github.proto-openapi.spec.v{version}.v1.0+protobuf",
                f"application/com.github.proto-openapi.spec.v{version}@v1.0+protobuf",
            ),
            (b"application/com.github.proto-openapi.spec.v%d.v1.0+protobuf" % version, True),
        ),
    }
    for version in (2, 3)
}


class OpenAPIHandlers:
    """Handlers of the OpenAPI endpoints."""

    def __init__(
        self,
        catalog: Catalog,
        custom: CustomSchemas,
        *,
        clock: Clock,
        remote: RemoteDocuments | None = None,
    ) -> None:
        """``remote``: documents of aggregated API servers."""
        self._remote = remote
        #: Own document, parts of backends, and the merged document.
        self._merged: tuple[Document, tuple[RemoteSwagger, ...], Document] | None = None
        self._merged_protobuf: tuple[Document, tuple[bytes, ...]] | None = None
        self._merging = asyncio.Lock()
        self._cache = DocumentCache(catalog, custom)
        self._clock = clock

    async def v2(self, request: Request) -> Response:
        """Serve ``GET /openapi/v2``."""
        form = _negotiate(request, 2)
        if form is None:
            return Response(406, content_type=b"")
        document = await self._cache.document(SWAGGER)
        if document is None:
            return page_not_found()
        swaggers = () if self._remote is None else self._remote.swaggers()
        if swaggers:
            return await self._serve_merged(request, await self._merge(document, swaggers), form)
        self._merged = self._merged_protobuf = None
        return await self._serve(request, SWAGGER, document.etag, form, [])

    async def _merge(self, document: Document, swaggers: tuple[RemoteSwagger, ...]) -> Document:
        """Return the document with the parts of backends, merged off the event loop."""
        async with self._merging:
            merged = self._merged
            if merged is None or merged[:2] != (document, swaggers):
                merged = self._merged = (document, swaggers, await asyncio.to_thread(merge, document, swaggers))
            return merged[2]

    async def _serve_merged(self, request: Request, document: Document, form: tuple[bytes, bool]) -> Response:
        content_type, is_protobuf = form
        headers = _about(document.etag, [])
        if _matches(request.header(b"if-none-match"), f'"{document.etag}"'):
            return _matched(request, headers)
        fragments = document.json
        if is_protobuf:
            async with self._merging:
                encoded = self._merged_protobuf
                if encoded is None or encoded[0] is not document:
                    encoded = self._merged_protobuf = (document, await asyncio.to_thread(document.protobuf))
            fragments = encoded[1]
        return self._respond(fragments, content_type, headers)

    async def v3_index(self, request: Request) -> Response:
        """Serve ``GET /openapi/v3``: the documents with their hashes. As upstream, the content type is text."""
        paths = {}
        for path in self._cache.paths():
            etag = await self._cache.etag(path)
            if etag is not None:
                paths[path] = {"serverRelativeURL": document_address(path, etag)}
        if self._remote is not None:
            paths |= {path: {"serverRelativeURL": url} for path, url in self._remote.urls().items()}
            paths = dict(sorted(paths.items()))
        body = msgspec.json.encode({"paths": paths})
        return Response(200, body, content_type=b"text/plain; charset=utf-8")

    async def v3(self, request: Request) -> Response:
        """Serve ``GET /openapi/v3/<path>``; redirect to the current hash if the request has another one."""
        path = request.path.removeprefix("/openapi/v3/")
        converted = None
        if self._remote is not None:
            response = await self._remote.serve(request, path)
            if response is not None:
                return response
            converted = self._remote.document(path)
        form = _negotiate(request, 3)
        if form is None:
            return Response(406, content_type=b"")
        etag = await self._cache.etag(path) if converted is None else converted.etag
        if etag is None:
            return page_not_found()
        requested_hash = request.param("hash")
        caching: Headers = []
        if requested_hash:
            if requested_hash != etag:
                return Response(301, headers=[(b"location", document_address(path, etag).encode())])
            expires = (self._clock.now() + _IMMUTABLE_FOR).strftime("%a, %d %b %Y %H:%M:%S GMT")
            caching = [(b"cache-control", b"public, immutable"), (b"expires", expires.encode())]
        if converted is not None:
            return await self._serve_converted(request, converted, form, caching)
        return await self._serve(request, path, etag, form, caching)

    async def _serve_converted(
        self, request: Request, document: Document, form: tuple[bytes, bool], caching: Headers
    ) -> Response:
        content_type, is_protobuf = form
        headers = _about(document.etag, caching)
        if _matches(request.header(b"if-none-match"), f'"{document.etag}"'):
            return _matched(request, headers)
        fragments = await asyncio.to_thread(document.protobuf) if is_protobuf else document.json
        return self._respond(fragments, content_type, headers)

    async def _serve(
        self, request: Request, path: str, etag: str, form: tuple[bytes, bool], caching: Headers
    ) -> Response:
        """Serve a document, or 304 if the client has the one with this hash."""
        content_type, is_protobuf = form
        if _matches(request.header(b"if-none-match"), f'"{etag}"'):
            return _matched(request, _about(etag, caching))
        document = await self._cache.document(path)
        if document is None:
            return page_not_found()
        if document.etag != etag:
            caching = []
        headers = _about(document.etag, caching)
        fragments = await self._cache.protobuf(path, document) if is_protobuf else document.json
        return self._respond(fragments, content_type, headers)

    def _respond(self, fragments: tuple[bytes, ...], content_type: bytes, headers: Headers) -> Response:
        size = sum(map(len, fragments))
        if size <= _PIECE_BYTES:
            return Response(200, b"".join(fragments), content_type=content_type, headers=headers)
        headers.append((b"content-length", b"%d" % size))
        return Response(200, content_type=content_type, headers=headers, stream=self._stream(fragments))

    async def _stream(self, fragments: tuple[bytes, ...]) -> AsyncIterator[bytes]:
        for piece in pieces(fragments, _PIECE_BYTES):
            yield piece
            await self._clock.sleep(0)


def document_address(path: str, etag: str) -> str:
    """Return the URL of a version 3 document with its hash."""
    return f"/openapi/v3/{path}?hash={etag}"


def _matched(request: Request, headers: Headers) -> Response:
    """Return the response to a request whose ``If-None-Match`` names the document. Upstream: Go's ``http.ServeContent``."""
    return Response(304 if request.method in ("GET", "HEAD") else 412, content_type=b"", headers=headers)


def _about(etag: str, caching: Headers) -> Headers:
    return [(b"etag", f'"{etag}"'.encode()), (b"vary", b"Accept"), *caching]


def _matches(if_none_match: str, tag: str) -> bool:
    """Report whether an ``If-None-Match`` header has the tag (RFC 9110, weak comparison)."""
    if if_none_match == "*":
        return True
    return tag in [candidate.strip().removeprefix("W/") for candidate in if_none_match.split(",")]


def _negotiate(request: Request, version: int) -> tuple[bytes, bool] | None:
    """Return the first acceptable media type, None for 406."""
    accept = request.header(b"accept") or "*/*"
    forms = _FORMS[version]
    for alternative in accept.split(","):
        name = alternative.partition(";")[0].strip()
        if name in ("*/*", "application/*"):
            return forms["application/json"]
        if name in forms:
            return forms[name]
    return None
