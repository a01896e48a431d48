"""One aggregated API server behind an APIService: how it is reached, and what was read from it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from steersman.apiserver.aggregation.availability import DEFAULT_PORT
from steersman.apiserver.aggregation.remote_user import remote_user_headers
from steersman.apiserver.discovery.catalog import RemoteVersion
from steersman.apiserver.proxying.connections import DialError, Outgoing, client_tls
from steersman.apiserver.proxying.pool import ConnectionPool, PoolGroup
from steersman.apiserver.request import UserInfo
from steersman.apiserver.webhooks.tls import CABundleError, tls_context

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.aggregation.service_resolver import ServiceResolver
    from steersman.apiserver.proxying.connections import Connections
    from steersman.apiserver.proxying.kubelet import Location
    from steersman.asynckit.clock import Clock

    #: Files of the front-proxy client certificate and its key.
    Identity = tuple[Path, Path]

#: The server's own identity at backends, which has all permissions there.
AGGREGATOR_USER: Final = UserInfo("system:kube-aggregator", ("system:masters",))


class BackendTLSError(ValueError):
    """The CA bundle or the client certificate cannot be used; the text says why."""


class BackendSpec(msgspec.Struct, frozen=True):
    """Spec of an APIService with a Service, without its priorities."""

    group: str
    version: str
    namespace: str
    service: str
    port: int
    ca_bundle: str = ""
    is_insecure: bool = False

    @property
    def path(self) -> str:
        """Path of the discovery document of the group version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def server_hostname(self) -> str:
        """Name that the serving certificate must have."""
        return f"{self.service}.{self.namespace}.svc"


def spec_of(api_service: Tree) -> BackendSpec | None:
    """Return where an APIService is served; None for a local one."""
    spec = api_service.get("spec") or {}
    service = spec.get("service")
    if service is None:
        return None
    return BackendSpec(
        spec.get("group") or "",
        spec.get("version") or "",
        service.get("namespace") or "",
        service.get("name") or "",
        service.get("port") or DEFAULT_PORT,
        spec.get("caBundle") or "",
        bool(spec.get("insecureSkipTLSVerify")),
    )


def make_tls(spec: BackendSpec, identity: Identity | None) -> ssl.SSLContext:
    """Return a client context that verifies as the spec says. Reads files. Raises ``BackendTLSError``."""
    try:
        context = client_tls() if spec.is_insecure else tls_context(base64.b64decode(spec.ca_bundle))
        if identity is not None:
            context.load_cert_chain(*identity)
    except (CABundleError, binascii.Error) as error:
        raise BackendTLSError(str(error)) from error
    except (ssl.SSLError, OSError) as error:
        raise BackendTLSError(f"unable to load the client certificate: {error.strerror or error}") from error
    return context


class BackendAnswer(NamedTuple):
    """Complete answer of a backend to the server itself."""

    code: int
    body: bytes
    content_type: bytes = b""
    etag: bytes = b""


class Backend:
    """State of one backend. Its availability is that of the stored APIService."""

    def __init__(
        self,
        spec: BackendSpec,
        resolver: ServiceResolver,
        connections: Connections,
        identity: Identity | None,
        *,
        clock: Clock,
        pools: PoolGroup,
    ) -> None:
        self.spec: Final = spec
        self.resolver: Final = resolver
        self._connections: Final = connections
        self._identity: Final = identity
        self._clock: Final = clock
        self._pools: Final = pools
        self._pool: ConnectionPool | None = None
        self._making_pool: Final = asyncio.Lock()
        self.group_priority = 0
        self.version_priority = 0
        self.is_available = False
        #: Rows of aggregated discovery that were read last.
        self.resources: tuple[Tree, ...] = ()
        self.is_stale = True

    def remote_version(self) -> RemoteVersion:
        """Return what discovery reports of this backend."""
        spec = self.spec
        is_stale = self.is_stale or not self.is_available
        return RemoteVersion(
            spec.group, spec.version, self.group_priority, self.version_priority, self.resources, is_stale
        )

    async def pool(self) -> ConnectionPool:
        """Return the connections of this backend. Raises ``BackendTLSError``."""
        async with self._making_pool:
            if self._pool is None:
                tls = await asyncio.to_thread(make_tls, self.spec, self._identity)
                name = self.spec.server_hostname
                self._pool = ConnectionPool(
                    self._connections, tls=tls, server_hostname=name, clock=self._clock, group=self._pools
                )
            return self._pool

    def locations(self) -> list[Location]:
        """Return where the Service is served, at least one. Raises ``ResolveError``."""
        return list(self.resolver.resolve(self.spec.namespace, self.spec.service, self.spec.port))

    async def get(
        self,
        location: Location,
        path: str,
        *,
        accept: bytes = b"application/json",
        size_max: int,
        if_none_match: bytes = b"",
    ) -> BackendAnswer:
        """GET a path as the server itself. Raises ``DialError``, ``BackendTLSError``."""
        headers = [(b"accept", accept), (b"user-agent", b"kube-aggregator"), *remote_user_headers(AGGREGATOR_USER)]
        if if_none_match:
            headers.append((b"if-none-match", if_none_match))
        answer = await (await self.pool()).round_trip(location, Outgoing(method="GET", target=path, headers=headers))
        try:
            body = await answer.text(size_max + 1)
        finally:
            answer.close()
        if len(body) > size_max:
            raise DialError(f"the answer has more than {size_max} bytes")
        header_values = dict(reversed(answer.headers))
        return BackendAnswer(
            answer.code, body, header_values.get(b"content-type", b""), header_values.get(b"etag", b"")
        )

    def renew_connections(self) -> None:
        """Use new connections from now on, with the present files of the identity; requests in flight end on theirs."""
        self.close()
        self._pool = None

    def close(self) -> None:
        """Close idle connections; requests in flight end on theirs."""
        if self._pool is not None:
            self._pool.close()
