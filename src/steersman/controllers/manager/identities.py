"""Client identities of controllers: one user for all, or a service account for each."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.asynckit.ratelimit import TokenBucket
from steersman.client import tree
from steersman.client.actions import uncounted
from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.client import Client
from steersman.client.credentials import ConfigError, Identity, with_bearer
from steersman.client.errors import AlreadyExists, ClientError, NotFound
from steersman.runtime.metrics import RuntimeMetrics
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock
    from steersman.client.kubeconfig import ClusterAccess
    from steersman.client.transport import Transport
    from steersman.controllers.manager.options import ManagerOptions

NAMESPACE: Final = "kube-system"
#: Requested lifetime; the server may extend it.
TOKEN_SECONDS: Final = 3600
#: Maximum number of connections of a controller; further requests wait. More connections do not speed up bursts of writes, and
#: each costs a TLS handshake.
CONNECTIONS_MAX: Final = 32
#: Remaining fraction of the lifetime at which a token is renewed.
_RENEWAL_FRACTION: Final = 0.2

_ACCOUNTS: Final = tree("v1", "ServiceAccount")


def user_agent(component: str = "") -> str:
    """Return the user agent; its first word is the field manager of all writes, as for kube-controller-manager."""
    agent = f"kube-controller-manager/{KUBERNETES_VERSION} steersman/{__version__}"
    return f"{agent}/{component}" if component else agent


class Identities(Protocol):
    """Factory of clients."""

    @property
    def metrics(self) -> RuntimeMetrics:
        """Return the metrics of all clients' requests and of the controllers."""

    def root(self) -> Client:
        """Return the client of the process, for informers and leader election."""

    def client(self, service_account: str) -> Client:
        """Return the client of a controller."""

    async def close(self) -> None:
        """Close all connections."""


class OneIdentity:
    """One identity for all controllers: the user of the kubeconfig."""

    def __init__(
        self, transport: Transport, options: ManagerOptions, *, clock: Clock, metrics: RuntimeMetrics | None = None
    ) -> None:
        self.metrics: RuntimeMetrics = metrics or RuntimeMetrics()
        self._make: Callable[[str], Client] = lambda component: self._client(
            transport, component, options=options, clock=clock
        )
        self._root = self._make("")

    def root(self) -> Client:
        """Return the client of that user."""
        return self._root

    def client(self, service_account: str) -> Client:
        """Return a client of the same user with its own user agent and rate limit."""
        return self._make(service_account)

    async def close(self) -> None:
        """Close the transport, which all clients share."""
        await self._root.close()

    def _client(self, transport: Transport, component: str, *, options: ManagerOptions, clock: Clock) -> Client:
        qps = options.kube_api_qps
        limiter = TokenBucket(qps, max(1, options.kube_api_burst), clock=clock) if qps > 0 else None
        return Client(
            transport, clock=clock, user_agent=user_agent(component), limiter=limiter, metrics=self.metrics.client
        )


class ServiceAccounts(OneIdentity):
    """Each controller acts as its account in ``kube-system``, with tokens that the root client requests."""

    def __init__(self, access: ClusterAccess, options: ManagerOptions, *, clock: Clock) -> None:
        super().__init__(AiohttpTransport(access), options, clock=clock)
        self._access = access
        self._options = options
        self._clock = clock
        self._clients: list[Client] = []

    def client(self, service_account: str) -> Client:
        """Return a client of the account; of the root identity without one."""
        if not service_account:
            return self.root()
        tokens = AccountTokens(self.root(), service_account)
        transport = AiohttpTransport(
            msgspec.structs.replace(self._access, credentials=tokens), connections_max=CONNECTIONS_MAX
        )
        client = self._client(transport, f"system:serviceaccount:{NAMESPACE}:{service_account}", options=self._options,
                       clock=self._clock)  # fmt: skip
        self._clients.append(client)
        return client

    async def close(self) -> None:
        """Close the connections of all clients; the root's last, as it requests tokens."""
        for client in self._clients:
            await client.close()
        await super().close()


class AccountTokens:
    """Tokens of one service account by TokenRequest; creates the account if it is missing."""

    def __init__(self, root: Client, name: str) -> None:
        self._root = root
        self._name = name
        self._identity: Identity | None = None
        self._renew_at: datetime | None = None
        #: Serializes requests; concurrent callers share the result.
        self._request_lock = asyncio.Lock()

    async def identity(self) -> Identity:
        """Return a token that is valid for some time. Raises ``ConfigError`` if none can be requested."""
        async with self._request_lock:
            if self._identity is None or (self._renew_at and self._root.clock.now() >= self._renew_at):
                try:
                    with uncounted():
                        await self._renew()
                except ClientError as error:
                    if self._identity is None:
                        raise ConfigError(f"no token for service account {NAMESPACE}/{self._name}: {error}") from error
            assert self._identity is not None
            return self._identity

    def reject(self) -> bool:
        """Discard the token: the account may have been recreated."""
        self._identity = None
        return True

    async def _renew(self) -> None:
        try:
            answer = await self._request_token()
        except NotFound:
            await self._make_account()
            answer = await self._request_token()
        status = answer["status"]
        now, expires = self._root.clock.now(), datetime.fromisoformat(status["expirationTimestamp"])
        self._renew_at = now + max(expires - now, timedelta()) * (1 - _RENEWAL_FRACTION)
        self._identity = with_bearer(Identity(), status["token"])

    async def _request_token(self) -> dict[str, Any]:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        return await self._root.create_subresource(
            _ACCOUNTS, self._name, "token", {**body, "spec": {"expirationSeconds": TOKEN_SECONDS}}, namespace=NAMESPACE
        )

    async def _make_account(self) -> None:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": self._name}}
        with suppress(AlreadyExists):
            await self._root.create(account, namespace=NAMESPACE)
