"""``/openapi/v2`` and ``/openapi/v3``: built on demand in a thread, cached until the catalog changes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apiserver.http import Response
from steersman.apiserver.openapi import protobuf
from steersman.apiserver.openapi.builder import Builder, CustomDefinitions

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.http import Request

_JSON = b"application/json"
#: What a client may ask for → (content type of the answer, encoding), by OpenAPI version.
_FORMS: dict[int, dict[str, tuple[bytes, str]]] = {
    2: {
        "application/json": (_JSON, "json"),
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": (
            b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
            "protobuf",
        ),
    },
    3: {
        "application/json": (_JSON, "json"),
        "application/com.github.proto-openapi.spec.v3@v1.0+protobuf": (
            b"application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
            "protobuf",
        ),
    },
}


class _Document:
    """One document in the encodings asked for so far."""

    def __init__(self, tree: dict[str, Any], encode_protobuf: Callable[[dict[str, Any]], bytes]) -> None:
        self.json = msgspec.json.encode(tree)
        self._encode_protobuf = encode_protobuf
        self._protobuf: bytes | None = None

    def body(self, encoding: str) -> bytes:
        if encoding == "json":
            return self.json
        if self._protobuf is None:  # the tree is many times the size of its encodings, so it was not kept
            self._protobuf = self._encode_protobuf(msgspec.json.decode(self.json))
        return self._protobuf


class OpenAPIHandlers:
    """The endpoints. At most one build of a document runs at a time; builds are bounded by the number of documents."""

    def __init__(self, catalog: Catalog, custom: CustomDefinitions) -> None:
        self._catalog = catalog
        self._builder = Builder(catalog, custom)
        self._generation = -1
        self._documents: dict[str, _Document] = {}
        self._building = asyncio.Lock()

    async def v2(self, request: Request) -> Response:
        """``GET /openapi/v2``."""
        form = _negotiate(request, 2)
        if form is None:
            return Response(406, content_type=b"")
        return await self._serve(request, "", form)

    async def v3_index(self, request: Request) -> Response:
        """``GET /openapi/v3``: the documents with their hashes. It is JSON that says it is text, as upstream's."""
        paths = {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self._builder.fingerprint(path)}"}
            for path in self._builder.openapi3_paths()
        }
        body = msgspec.json.encode({"paths": paths})
        return Response(200, body, content_type=b"text/plain; charset=utf-8")

    async def v3(self, request: Request) -> Response:
        """``GET /openapi/v3/<path>``; with another hash than the document's it redirects to the right one."""
        path = request.path.removeprefix("/openapi/v3/")
        form = _negotiate(request, 3)
        if form is None:
            return Response(406, content_type=b"")
        asked = request.param("hash")
        fingerprint = self._builder.fingerprint(path)
        if asked and asked != fingerprint and path in self._builder.openapi3_paths():
            location = f"/openapi/v3/{path}?hash={fingerprint}".encode()
            return Response(301, headers=[(b"location", location)])
        caching: list[tuple[bytes, bytes]] = []
        if asked:  # the address names the content: it never changes
            caching = [(b"cache-control", b"public, immutable"), (b"expires", b"Thu, 31 Dec 2099 23:59:59 GMT")]
        return await self._serve(request, path, form, caching)

    async def _serve(
        self, request: Request, path: str, form: tuple[bytes, str], headers: list[tuple[bytes, bytes]] | None = None
    ) -> Response:
        content_type, encoding = form
        tag = f'"{self._builder.fingerprint(path)}"'
        about = [(b"etag", tag.encode()), (b"vary", b"Accept"), *(headers or [])]
        wanted = request.header(b"if-none-match")
        if wanted and (wanted == "*" or tag in [t.strip().removeprefix("W/") for t in wanted.split(",")]):
            return Response(304, content_type=b"", headers=about)
        document = await self._document(path)
        if document is None:
            return Response(404, b"404 page not found\n", content_type=b"text/plain; charset=utf-8")
        body = document.json if encoding == "json" else await asyncio.to_thread(document.body, encoding)
        return Response(200, body, content_type=content_type, headers=about)

    async def _document(self, path: str) -> _Document | None:
        """The document of a path (empty: version 2), built if need be."""
        async with self._building:
            if self._generation != self._catalog.generation:
                self._generation = self._catalog.generation
                self._documents.clear()
            document = self._documents.get(path)
            if document is None:
                document = await asyncio.to_thread(self._build, path)
                if document is not None:
                    self._documents[path] = document
            return document

    def _build(self, path: str) -> _Document | None:
        if not path:
            return _Document(self._builder.swagger(), protobuf.encode_v2)
        tree = self._builder.openapi3(path)
        return _Document(tree, protobuf.encode_v3) if tree is not None else None


def _negotiate(request: Request, version: int) -> tuple[bytes, str] | None:
    """The first acceptable form, or None (406)."""
    accept = request.header(b"accept") or "*/*"
    forms = _FORMS[version]
    for alternative in accept.split(","):
        name = alternative.partition(";")[0].strip()
        if name in ("*/*", "application/*"):
            return forms["application/json"]
        if name in forms:
            return forms[name]
    return None
