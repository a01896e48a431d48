"""Pages of the kubelet about one node: its configuration, and its usage, which metrics servers and Prometheus read.

All simulated nodes of a process share one listener. The API server names the node of a proxied request in
``X-Forwarded-Uri`` (``/api/v1/nodes/node-0/proxy/stats/summary``); without it the page is that of the only node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.codec import encode
from steersman.nodes.kubelet.configz import kubelet_configuration
from steersman.nodes.kubelet.host import RequestError
from steersman.nodes.metrics.exposition import (
    CONTENT_TYPE,
    cadvisor_metrics,
    kubelet_metrics,
    probe_metrics,
    resource_metrics,
)
from steersman.nodes.metrics.node_usage import NodeUsage
from steersman.nodes.metrics.summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.nodes.metrics.node_usage import NodeSample
    from steersman.nodes.metrics.usage import ContainerUsage

_PREFIX: Final = "/api/v1/nodes/"


class NodePage(NamedTuple):
    """Content of a page."""

    content: bytes
    content_type: str


def _stats(sample: NodeSample) -> NodePage:
    return NodePage(encode(summary(sample)), "application/json")


def _text(render: Callable[[NodeSample], str]) -> Callable[[NodeSample], NodePage]:
    return lambda sample: NodePage(render(sample).encode(), CONTENT_TYPE)


#: Page that is served for all nodes together, too.
_METRICS: Final = "/metrics"
PAGES: Final[dict[str, Callable[[NodeSample], NodePage]]] = {
    _METRICS: _text(kubelet_metrics),
    "/metrics/cadvisor": _text(cadvisor_metrics),
    "/metrics/probes": _text(probe_metrics),
    "/metrics/resource": _text(resource_metrics),
    "/stats/summary": _stats,
}


CONFIGZ: Final = "/configz"


class NodePages:
    """Pages by path and node."""

    def __init__(
        self,
        usage: ContainerUsage,
        nodes: Callable[[], Iterable[Tree]],
        pods: Callable[[], Iterable[Tree]],
        *,
        clock: Clock,
    ) -> None:
        """``nodes`` returns the simulated nodes, ``pods`` the pods on them."""
        self._usage: Final = NodeUsage(usage)
        self._nodes: Final = nodes
        self._pods: Final = pods
        self._clock: Final = clock

    def page(self, path: str, forwarded_uri: str) -> NodePage | None:
        """Return the page; None if there is none with this path, or no node has been named for ``/metrics``.

        Raises ``RequestError`` if the node is unknown.
        """
        render = PAGES.get(path.rstrip("/"))
        if render is None and path != CONFIGZ:
            return None
        nodes = {node["metadata"]["name"]: node for node in self._nodes()}
        self._usage.retain(nodes)
        name = requested_node(forwarded_uri)
        if not name and len(nodes) == 1:
            (name,) = nodes
        if not name and path == _METRICS:
            return None
        if not name:
            raise RequestError(f"several nodes share this address: request {_PREFIX}NAME/proxy{path} of the API server")
        if name not in nodes:
            raise RequestError(f'node "{name}" not found', code=404)
        if render is None:
            return NodePage(encode(kubelet_configuration(nodes[name])), "application/json")
        pods = [pod for pod in self._pods() if pod["spec"].get("nodeName") == name]
        return render(self._usage.sample(nodes[name], pods, now=self._clock.now()))


def requested_node(forwarded_uri: str) -> str:
    """Return the node of a request that the API server has forwarded; empty for others."""
    if not forwarded_uri.startswith(_PREFIX):
        return ""
    # Upstream: ``SplitSchemeNamePort``.
    parts = forwarded_uri.removeprefix(_PREFIX).partition("/")[0].replace("%3A", ":").split(":")
    return parts[1] if len(parts) == 3 else parts[0]
