"""OpenAPI documents of one backend: its part of version 2, and the address of version 3 or version 2 converted to it."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.cache_sizes import CacheSize
from steersman.apiserver.aggregation.backend import BackendTLSError
from steersman.apiserver.openapi.handlers import document_address
from steersman.apiserver.proxying.connections import DialError
from steersman.apiserver.workers import in_worker
from steersman.asynckit.timeouts import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apiserver.aggregation.backend import Backend
    from steersman.apiserver.aggregation.controller import Aggregator
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.openapi.document import Document
    from steersman.apiserver.openapi.remote import RemoteSwagger
    from steersman.apiserver.proxying.kubelet import Location
    from steersman.asynckit.clock import Clock

_log: Final = logging.getLogger(__name__)

_INDEX_BYTES_MAX: Final = 1 << 20
_SWAGGER_BYTES_MAX: Final = 16 << 20
_TIMEOUT_SECONDS: Final = 5.0


class _Address(msgspec.Struct, rename={"url": "serverRelativeURL"}):
    url: str = ""


class _Index(msgspec.Struct):
    paths: dict[str, _Address]


_decode_index: Final = msgspec.json.Decoder(_Index).decode
#: Errors of documents that cannot be used.
UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)


def address_in(body: bytes, path: str) -> str:
    """Return the address of a version 3 document in an index; empty if it has none. Raises ``UNREADABLE``."""
    address = _decode_index(body).paths.get(path.removeprefix("/"))
    return "" if address is None else address.url


def read_swagger(body: bytes, prefix: str, *, has_v3: bool) -> tuple[RemoteSwagger, Document | None]:
    """Return the part of a group version, and the document in version 3 if the backend has none.

    Runs in a worker. Raises ``UNREADABLE``.
    """
    from steersman.apiserver.openapi.remote import select_paths  # noqa: PLC0415 — slow, and of no use without backends
    from steersman.apiserver.openapi.v2_to_v3 import convert_document  # noqa: PLC0415 — as above

    tree = msgspec.json.decode(body)
    return select_paths(tree, prefix), None if has_v3 else convert_document(tree)


class BackendOpenAPI:
    """Documents of one backend as last read. A failed request keeps them."""

    def __init__(self) -> None:
        #: Address of the version 3 document with its hash; empty if the backend has none.
        self.url = ""
        #: None if the backend has no version 2.
        self.swagger: RemoteSwagger | None = None
        #: Version 2 as version 3, of a backend that does not serve ``/openapi/v3``.
        self.converted: Document | None = None
        self._has_v3 = True
        self._etag = b""
        self._size = CacheSize("OpenAPI documents of backends")

    async def read(self, backend: Backend, location: Location, *, clock: Clock) -> None:
        """Read both versions, version 2 only if it has changed."""
        try:
            await wait_for(self._read_index(backend, location), _TIMEOUT_SECONDS, clock=clock)
            await wait_for(self._read_swagger(backend, location), _TIMEOUT_SECONDS, clock=clock)
        except (TimeoutError, DialError, BackendTLSError, *UNREADABLE) as error:
            _log.info("OpenAPI of %s: %s", backend.spec.path, str(error) or "timed out")

    async def _read_index(self, backend: Backend, location: Location) -> None:
        answer = await backend.get(location, "/openapi/v3", size_max=_INDEX_BYTES_MAX)
        if answer.code == 200:
            self.url = address_in(answer.body, backend.spec.path)
            self._has_v3, self.converted = True, None
        elif answer.code == 404:
            self.url = ""
            if self._has_v3:
                self._has_v3, self._etag = False, b""  # to be read again, for its conversion

    async def _read_swagger(self, backend: Backend, location: Location) -> None:
        answer = await backend.get(location, "/openapi/v2", size_max=_SWAGGER_BYTES_MAX, if_none_match=self._etag)
        if answer.code == 200:
            read = partial(read_swagger, answer.body, backend.spec.path, has_v3=self._has_v3)
            self.swagger, self.converted = await in_worker(read)
            self._etag = answer.etag
            self._size.size_bytes = len(answer.body)
        elif answer.code == 404:
            self.swagger, self.converted, self._etag = None, None, b""
            self._size.size_bytes = 0


class AggregatedDocuments:
    """Documents of all backends (``RemoteDocuments``)."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator: Final = aggregator

    def urls(self) -> Mapping[str, str]:
        """Return the addresses of version 3 documents, by path below ``/openapi/v3/``."""
        urls = {}
        for backend, document in self._aggregator.documents():
            path = backend.spec.path.removeprefix("/")
            if document.url:
                urls[path] = document.url
            elif document.converted is not None:
                urls[path] = document_address(path, document.converted.etag)
        return urls

    def document(self, path: str) -> Document | None:
        """Return the converted document of a backend that serves version 2 only."""
        documents = self._aggregator.documents()
        return next((openapi.converted for backend, openapi in documents if backend.spec.path == f"/{path}"), None)

    def swaggers(self) -> tuple[RemoteSwagger, ...]:
        """Return the parts of version 2, ordered by group version."""
        documents = sorted(self._aggregator.documents(), key=lambda pair: pair[0].spec.path)
        return tuple(document.swagger for _, document in documents if document.swagger is not None)

    async def serve(self, request: Request, path: str) -> Response | None:
        """Forward a request for a version 3 document; None if no backend has it."""
        for backend, document in self._aggregator.documents():
            if document.url and backend.spec.path == f"/{path}":
                return await self._aggregator.serve(request, backend)
        return None
