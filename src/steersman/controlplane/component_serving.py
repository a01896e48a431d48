"""HTTPS of a component: certificate, client authorities, delegated access, and the pages that only this port serves.

The files of certificates and of the client authorities, and the ConfigMap ``extension-apiserver-authentication``, are
read again once a minute. Upstream: ``k8s.io/apiserver/pkg/server/options`` and its ``dynamiccertificates``.
"""

from __future__ import annotations

import logging
import os
import ssl
from asyncio import to_thread
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.asynckit.server_names import ServerContexts, ServerTLS
from steersman.asynckit.serving_tls import PemPair, make_context
from steersman.client import tree
from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.client import Client
from steersman.client.connecting import connect
from steersman.client.credentials import ConfigError
from steersman.client.errors import ClientError
from steersman.client.kubeconfig import in_cluster
from steersman.controlplane import component_pages
from steersman.controlplane.metric_options import metric_filter
from steersman.controlplane.serving_certificates import ANY_ADDRESS, read_or_make_pair
from steersman.controlplane.tls_options import named_cert_keys, tls_policy
from steersman.runtime import profiling
from steersman.runtime.access_metrics import AccessMetrics
from steersman.runtime.delegated_access import CacheTimes, DelegatedAccess
from steersman.runtime.http import HttpServer

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from prometheus_client import CollectorRegistry

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.component_pages import ComponentDescription
    from steersman.runtime.manager import Manager
    from steersman.runtime.serving_options import ServingOptions

_log = logging.getLogger(__name__)

_CONFIG_MAPS: Final = tree("v1", "ConfigMap")
_NAMESPACE: Final = "kube-system"
#: ConfigMap with the authorities of client certificates.
_CONFIG_MAP: Final = "extension-apiserver-authentication"
_CLIENT_CA_KEY: Final = "client-ca-file"
#: Upstream's ``FileRefreshDuration``.
_RELOAD_SECONDS: Final = 60.0


class Serving(NamedTuple):
    """HTTPS options of a component, and the content of its pages."""

    options: ServingOptions
    description: ComponentDescription


async def add_secure_server(manager: Manager, serving: Serving | None, stack: AsyncExitStack) -> None:
    """Serve the manager's pages also by HTTPS, unless the port is 0; no effect without ``serving``. Raises ``ClientError``,
    ``OSError``, ``ValueError`` for an invalid certificate, address or kubeconfig.
    """
    if serving is None:
        return
    manager.metric_filter = metric_filter(serving.options)
    if not serving.options.secure_port:
        return
    context = manager.context
    secure = SecureServing(serving, stack, registry=context.metrics.registry, clock=context.clock)
    await secure.start()
    manager.add_server(secure.server)
    manager.add_background("serving certificates", secure.reload)


class SecureServing:
    """HTTPS server of a component with its certificate and guard."""

    def __init__(self, serving: Serving, stack: AsyncExitStack, *, registry: CollectorRegistry, clock: Clock) -> None:
        """Create the server; ``stack`` closes clients of the reviewing clusters.

        Raises ``ConfigError``, ``ValueError``.
        """
        options, description = serving
        self._options = options
        self._component = description.component
        self._clock = clock
        self._token_reviewer = _reviewer(
            options.authentication_kubeconfig, "authentication", description.component, stack
        )
        access_reviewer = _reviewer(options.authorization_kubeconfig, "authorization", description.component, stack)
        self._named = named_cert_keys(options)
        #: Certificate of this process, without a file or directory.
        self._own_pair: PemPair | None = None
        self._loaded: tuple[list[PemPair], str] | None = None
        self.server: Final = HttpServer(
            host=options.bind_address,
            port=options.secure_port,
            clock=clock,
            shares_port=options.permit_port_sharing,
            guard=DelegatedAccess(
                token_reviewer=self._token_reviewer,
                access_reviewer=access_reviewer,
                clock=clock,
                metrics=AccessMetrics(registry),
                always_allow_paths=options.authorization_always_allow_paths,
                cache_times=CacheTimes(
                    options.authentication_token_webhook_cache_ttl_seconds,
                    options.authorization_webhook_cache_authorized_ttl_seconds,
                    options.authorization_webhook_cache_unauthorized_ttl_seconds,
                ),
            ),
        )
        stack.callback(self.server.close)
        component_pages.add_pages(self.server, description, clock=clock)
        if options.profiling:
            profiling.add_pages(self.server)
            component_pages.add_debug_flags(self.server)

    async def start(self) -> None:
        """Bind the port and load the certificate. Raises ``OSError``, ``ClientError``, ``ValueError``."""
        self.server.bind()
        try:
            client_ca = await self._client_ca()
        except ClientError as error:
            if not self._options.authentication_tolerate_lookup_failure:
                raise
            _log.warning("client certificates are not accepted before %s can be read: %s", _CONFIG_MAP, error)
            client_ca = ""
        try:
            await self._load(client_ca)
        except ssl.SSLError as error:
            raise ValueError(f"the serving certificate or the client authorities cannot be used: {error}") from error

    async def reload(self) -> None:
        """Load the certificate and the client authorities again whenever they have changed."""
        while True:
            await self._clock.sleep(_RELOAD_SECONDS)
            try:
                await self._load(await self._client_ca())
            except (ClientError, OSError, ValueError) as error:
                _log.warning("the serving certificate cannot be read again: %s", error)

    async def _load(self, client_ca: str) -> None:
        pair = self._own_pair
        if pair is None:
            pair = await to_thread(read_or_make_pair, self._options, self._component, now=self._clock.now())
        if not (self._options.tls_cert_file or self._options.cert_dir):
            self._own_pair = pair
        pairs = [pair, *await to_thread(self._read_named_pairs)]
        if (pairs, client_ca) == self._loaded:
            return
        contexts = await to_thread(self._make_contexts, pairs, client_ca)
        await self.server.replace_tls(ServerTLS(contexts).context)
        self._loaded = (pairs, client_ca)

    def _read_named_pairs(self) -> list[PemPair]:
        return [PemPair(named.certificate.read_bytes(), named.key.read_bytes()) for named in self._named]

    def _make_contexts(self, pairs: list[PemPair], client_ca: str) -> ServerContexts:
        """Return the contexts of the default pair and the named ones."""
        policy = tls_policy(self._options)
        contexts = [make_context(pair, client_ca, policy=policy) for pair in pairs]
        if not self._named:
            return ServerContexts(contexts[0])
        from steersman.controlplane.sni_certificates import LoadedCertificate, server_contexts  # noqa: PLC0415 — few

        names = [(), *(named.names for named in self._named)]
        default, *others = map(LoadedCertificate, contexts, [pair.certificate for pair in pairs], names)
        address = self._options.bind_address
        return server_contexts(default, others, address="" if address in ANY_ADDRESS else address)

    async def _client_ca(self) -> str:
        """Return the authorities of client certificates in PEM: those of the file, or else of the cluster. Raises ``ClientError``, ``OSError``."""
        if self._options.client_ca_file:
            return await to_thread(Path(self._options.client_ca_file).read_text, encoding="ascii")
        if self._options.authentication_skip_lookup or self._token_reviewer is None:
            return ""
        config_map = await self._token_reviewer.get(_CONFIG_MAPS, _CONFIG_MAP, namespace=_NAMESPACE)
        text: str = (config_map.get("data") or {}).get(_CLIENT_CA_KEY, "")
        return text


def _reviewer(kubeconfig: str, purpose: str, component: str, stack: AsyncExitStack) -> Client | None:
    """Return a client of the reviewing cluster: by the kubeconfig, or else the pod's service account; None without either.
    Raises ``ConfigError``.
    """
    agent = f"{component}/{purpose}"
    if kubeconfig:
        client = connect(kubeconfig, user_agent=agent)
    elif not os.environ.get("KUBERNETES_SERVICE_HOST"):
        _log.warning("no --%s-kubeconfig: %s", purpose, _WITHOUT[purpose])
        return None
    else:
        try:
            client = Client(AiohttpTransport(in_cluster()), user_agent=agent)
        except ConfigError as error:
            _log.warning("no --%s-kubeconfig: %s (%s)", purpose, _WITHOUT[purpose], error)
            return None
    stack.push_async_callback(client.close)
    return client


_WITHOUT: Final = {
    "authentication": "requests with tokens are anonymous, and client certificates need --client-ca-file",
    "authorization": "only the paths of --authorization-always-allow-paths are served",
}
