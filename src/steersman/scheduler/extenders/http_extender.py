"""One extender, reached by HTTP. Upstream: ``HTTPExtender`` in pkg/scheduler/extender.go.

Unlike upstream, redirects are not followed and answers are bounded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from steersman.apimachinery.gotext import quote
from steersman.asynckit.timeouts import wait_for
from steersman.client.aiohttp_transport import AiohttpTransport, tls_context
from steersman.client.credentials import ConfigError, Identity, StaticCredentials
from steersman.client.kubeconfig import ClusterAccess
from steersman.client.transport import Request, TransportError, read_body
from steersman.scheduler.configuration.errors import ConfigurationError
from steersman.scheduler.extenders import wire
from steersman.scheduler.framework import ExtenderError, Victims
from steersman.scheduler.preemption import importance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.client.transport import Transport
    from steersman.scheduler.configuration.extenders import ExtenderSettings, ExtenderTLS
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

#: Bound on an answer; a list of nodes has some 5 KiB for each.
ANSWER_MAX_BYTES: Final = 128 * 1024 * 1024
_CONNECTIONS_MAX: Final = 16


class HTTPExtender:
    """Client of an extender. Every call raises ``ExtenderError``."""

    def __init__(self, settings: ExtenderSettings, transport: Transport, *, clock: Clock) -> None:
        self.settings: Final = settings
        self.name: Final = settings.url_prefix
        self._transport = transport
        self._clock = clock

    def is_interested(self, pod: PodInfo) -> bool:
        """Report whether a container of the pod names a managed resource."""
        managed = self.settings.managed_resources
        if not managed:
            return True
        spec = pod.pod.spec
        for container in (*spec.containers, *(spec.initContainers or ())):
            resources = container.resources
            if resources is not None and not (
                managed.isdisjoint(resources.requests or ()) and managed.isdisjoint(resources.limits or ())
            ):
                return True
        return False

    async def filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> tuple[list[NodeInfo], wire.FilterResult]:
        """Return the nodes that pass, in the extender's order, and its result."""
        as_names = self.settings.node_cache_capable
        body = await self._send(self.settings.filter_verb, wire.encode_args(pod, nodes, as_names=as_names))
        result = wire.decode_filter_result(body, as_names=as_names)
        by_name = {node.name: node for node in nodes}
        unknown = next((name for name in result.nodes if name not in by_name), None)
        if unknown is not None:
            raise ExtenderError(
                f"extender {quote(self.name)} claims a filtered node {quote(unknown)} "
                "which is not found in the input node list"
            )
        return [by_name[name] for name in result.nodes], result

    async def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[tuple[str, int]]:
        """Return scores by node, from 0 to ``wire.PRIORITY_MAX`` and without the weight."""
        args = wire.encode_args(pod, nodes, as_names=self.settings.node_cache_capable)
        return wire.decode_priorities(await self._send(self.settings.prioritize_verb, args))

    async def process_preemption(self, pod: PodInfo, candidates: Sequence[Victims], cluster: Snapshot) -> list[Victims]:
        """Return the candidates that the extender proposes; those of an ignorable one without victims are left out."""
        # The cluster may change before the answer: victims are looked up as they were sent.
        sent = {candidate.node: _pods_of(cluster, candidate.node) for candidate in candidates}
        args = wire.encode_preemption_args(pod, candidates, as_uids=self.settings.node_cache_capable)
        result = wire.decode_preemption_result(await self._send(self.settings.preempt_verb, args))
        proposed: list[Victims] = []
        for node, meta in result.items():
            pods = sent.get(node) or _pods_of(cluster, node)
            if pods is None:
                raise ExtenderError(f"nodeinfo not found for node name {quote(node)}")
            victims = sorted((self._victim(pods, uid, node) for uid in meta.uids), key=importance)
            if victims:
                proposed.append(Victims(node, tuple(victims), meta.violations))
            elif not self.settings.ignorable:
                raise ExtenderError(f"expected at least one victim pod on node {quote(node)}")
        return proposed

    def _victim(self, pods: Mapping[str, PodInfo], uid: str, node: str) -> PodInfo:
        if uid not in pods:
            raise ExtenderError(
                f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node}, "
                "but the pod is not found on that node"
            )
        return pods[uid]

    async def bind(self, pod: PodInfo, node: str) -> None:
        """Bind the pod to the node."""
        wire.check_binding_result(await self._send(self.settings.bind_verb, wire.encode_binding_args(pod, node)))

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def _send(self, verb: str, body: bytes) -> bytes:
        url = f"{self.settings.url_prefix.rstrip('/')}/{verb}"
        parts = urlsplit(url)
        request = Request("POST", unquote(parts.path), headers={"content-type": "application/json"}, body=body)
        try:
            status, answer = await wait_for(self._exchange(request), self.settings.timeout_seconds, clock=self._clock)
        except TimeoutError:
            detail = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            raise ExtenderError(f"Post {quote(url)}: {detail}") from None
        except (TransportError, ConfigError, ValueError) as error:
            raise ExtenderError(f"Post {quote(url)}: {error}") from None
        if status != 200:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {status}")
        return answer

    async def _exchange(self, request: Request) -> tuple[int, bytes]:
        async with self._transport.open(request) as stream:
            if stream.status != 200:
                return stream.status, b""
            return stream.status, await read_body(stream, bytes_max=ANSWER_MAX_BYTES)


def _pods_of(cluster: Snapshot, node: str) -> dict[str, PodInfo] | None:
    info = cluster.get(node)
    return dict(info.pods) if info is not None else None


def connect(settings: ExtenderSettings, *, clock: Clock) -> HTTPExtender:
    """Return an extender. Raises ``ConfigError``, OSError for its certificates."""
    access, _ = _access(settings)
    return HTTPExtender(settings, AiohttpTransport(access, connections_max=_CONNECTIONS_MAX), clock=clock)


def check_tls(extenders: Iterable[ExtenderSettings]) -> None:
    """Read the certificates of all extenders. Raises ``ConfigurationError``."""
    for number, settings in enumerate(extenders):
        try:
            tls_context(*_access(settings))
        except OSError as error:
            fault = f"open {error.filename}: {error.strerror}" if error.filename else str(error)
        except (ConfigError, ValueError) as error:
            fault = str(error)
        else:
            continue
        raise ConfigurationError(f"extenders[{number}].tlsConfig: {fault}")


def _access(settings: ExtenderSettings) -> tuple[ClusterAccess, Identity]:
    """Return address and certificates. Upstream: ``makeTransport``, ``TLSConfigFor`` in client-go/transport."""
    tls = settings.tls
    ca = _pem(tls.ca_data, tls.ca_file)
    if ca and tls.insecure:
        raise ConfigError("specifying a root certificates file with the insecure flag is not allowed")
    certificate, key = _pair(tls)
    parts = urlsplit(settings.url_prefix)
    identity = Identity(certificate=certificate, key=key)
    return ClusterAccess(
        urlunsplit((parts.scheme, parts.netloc, "", "", "")),
        StaticCredentials(identity),
        ca=ca,
        verify=not tls.insecure and (ca is not None or not settings.enable_https),
        tls_server_name=tls.server_name,
    ), identity


def _pair(tls: ExtenderTLS) -> tuple[bytes | None, bytes | None]:
    certificate, key = _pem(tls.cert_data, tls.cert_file), _pem(tls.key_data, tls.key_file)
    if (certificate is None) != (key is None):
        raise ConfigError("a client certificate and its key need each other")
    return certificate, key


def _pem(data: bytes, file: str) -> bytes | None:
    return data or (Path(file).read_bytes() if file else None)
