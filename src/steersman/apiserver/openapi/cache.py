"""Cache of documents and their encodings, built on request outside of the event loop."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from steersman.apimachinery.cache_sizes import CacheSize
from steersman.apiserver.openapi.renderer import built_in_etag, renderer_digest
from steersman.apiserver.openapi.sources import Snapshot, Sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.openapi.builder import Builder
    from steersman.apiserver.openapi.document import Document
    from steersman.apiserver.openapi.sources import CustomSchemas

    #: Runs a function outside the event loop.
    Executor = Callable[[Callable[[], Any]], asyncio.Future[Any]]

T = TypeVar("T")

#: Cache key of the Swagger 2.0 document, which is not a path of ``/openapi/v3``.
SWAGGER = ""

_NO_SOURCE: Final[Any] = object()


def _in_default_executor(function: Callable[[], Any]) -> asyncio.Future[Any]:
    return asyncio.get_running_loop().run_in_executor(None, function)


class DocumentCache:
    """Documents by path. At most one build runs at a time; concurrent requests for a document share one build.

    The size is proportional to the served schemas: one document per path, and its protobuf form once requested. A build
    continues when its request is cancelled, and the next request uses the result.
    """

    def __init__(self, catalog: Catalog, custom: CustomSchemas, *, executor: Executor = _in_default_executor) -> None:
        self._sources = Sources(catalog, custom)
        #: Digest of the rendering code, and the builder, once needed.
        self._renderer: bytes | None = None
        self._builder: Builder | None = None
        self._executor = executor
        self._snapshot = Snapshot([])
        #: Path → (source, hash) of documents about built-in kinds.
        self._etags: dict[str, tuple[object, str]] = {}
        #: Path → (source, document).
        self._documents: dict[str, tuple[object, Document]] = {}
        #: Path → (document, protobuf fragments).
        self._protobuf: dict[str, tuple[object, tuple[bytes, ...]]] = {}
        self._building: asyncio.Future[Any] | None = None
        self._size = CacheSize("OpenAPI documents")

    def paths(self) -> list[str]:
        """Return the sorted paths below ``/openapi/v3/``."""
        return list(self._current().by_path)

    async def etag(self, path: str) -> str | None:
        """Return the hash of a document of ``/openapi/v3``, None for an unknown path.

        Builds documents of custom kinds, but not those of built-in kinds.
        """
        source = self._current().by_path.get(path, _NO_SOURCE)
        if source is _NO_SOURCE:
            return None
        if source is not None and not source.is_built_in:
            document = await self.document(path)
            return document.etag if document is not None else None
        cached = self._etags.get(path)
        if cached is None or cached[0] is not source:
            resources = source.resources if source is not None else ()
            cached = self._etags[path] = (source, built_in_etag(await self._digest(), path, resources))
        return cached[1]

    async def _digest(self) -> bytes:
        while self._renderer is None:
            if not await self._is_busy():
                await self._run(renderer_digest, self._keep_renderer)
        return self._renderer

    def _keep_renderer(self, digest: bytes) -> None:
        self._renderer = digest

    async def document(self, path: str) -> Document | None:
        """Return the document of a path or of ``SWAGGER``, None for an unknown path.

        The document reflects the catalog at some moment during the call; concurrent changes start no second build.
        """
        renderer = await self._digest()
        while True:
            snapshot = self._current()
            if path != SWAGGER and path not in snapshot.by_path:
                return None
            source = snapshot if path == SWAGGER else snapshot.by_path[path]
            cached = self._documents.get(path)
            if cached is not None and cached[0] is source:
                return cached[1]
            if not await self._is_busy():
                build = partial(self._build, renderer, path, source)
                return await self._run(build, partial(self._keep_document, path, source))

    async def protobuf(self, path: str, document: Document) -> tuple[bytes, ...]:
        """Return the protobuf form of a path's document."""
        while True:
            cached = self._protobuf.get(path)
            if cached is not None and cached[0] is document:
                return cached[1]
            if not await self._is_busy():
                return await self._run(document.protobuf, partial(self._keep_protobuf, path, document))

    def _current(self) -> Snapshot:
        """Return the current snapshot and evict results of removed sources."""
        snapshot = self._sources.current()
        if snapshot is not self._snapshot:
            self._snapshot = snapshot
            self._documents = {
                path: cached for path, cached in self._documents.items() if self._is_current(path, cached[0])
            }
            self._protobuf = {path: cached for path, cached in self._protobuf.items() if path in self._documents}
            self._etags = {path: cached for path, cached in self._etags.items() if self._is_current(path, cached[0])}
            self._add_up()
        return snapshot

    async def _is_busy(self) -> bool:
        """Wait for a running build, and report whether there was one."""
        if self._building is None:
            return False
        await asyncio.wait([self._building])
        return True

    async def _run(self, build: Callable[[], T], keep: Callable[[T], None]) -> T:
        """Run a build in the executor and cache its result, even if the caller is cancelled."""
        future = self._building = self._executor(build)

        def finish(done: asyncio.Future[T]) -> None:
            self._building = None
            if not done.cancelled() and done.exception() is None:
                keep(done.result())

        future.add_done_callback(finish)
        return cast("T", await asyncio.shield(future))

    def _build(self, renderer: bytes, path: str, source: Any) -> Document:
        """Build a document in the executor, one at a time."""
        if self._builder is None:
            from steersman.apiserver.openapi.builder import Builder  # noqa: PLC0415 — imported off the event loop

            self._builder = Builder(renderer)
        if path == SWAGGER:
            return self._builder.swagger(source.group_versions)
        return self._builder.discovery(path) if source is None else self._builder.openapi3(source)

    def _keep_document(self, path: str, source: object, document: Document) -> None:
        self._current()
        if self._is_current(path, source):
            self._documents[path] = (source, document)
            self._add_up()

    def _keep_protobuf(self, path: str, document: Document, fragments: tuple[bytes, ...]) -> None:
        cached = self._documents.get(path)
        if cached is not None and cached[1] is document:
            self._protobuf[path] = (document, fragments)
            self._add_up()

    def _add_up(self) -> None:
        documents = sum(document.size for _, document in self._documents.values())
        self._size.size_bytes = documents + sum(sum(map(len, parts)) for _, parts in self._protobuf.values())

    def _is_current(self, path: str, source: object) -> bool:
        """Report whether the source of a path's document is current."""
        if path == SWAGGER:
            return source is self._snapshot
        return path in self._snapshot.by_path and self._snapshot.by_path[path] is source
