"""Resources ``nodes`` and ``pods`` of ``metrics.k8s.io/v1beta1``: maps a path and a query to a response. Pure, except for reads
of caches. Upstream: sigs.k8s.io/metrics-server, ``pkg/api``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.errors import bad_request, method_not_supported, not_found, path_not_found
from steersman.apimachinery.selectors import SelectorError, parse_field_selector, parse_label_selector
from steersman.apimachinery.timestamps import format_time
from steersman.nodes.metrics.usage import RESOURCES, container_usage, quantities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.nodes.metrics.usage import ContainerUsage

GROUP: Final = "metrics.k8s.io"
VERSION: Final = "v1beta1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
#: Reported measurement window.
WINDOW_SECONDS: Final = 10
_VERBS: Final = ["get", "list"]
_RESOURCES: Final = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": API_VERSION,
    "resources": [
        {"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": _VERBS},
        {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": _VERBS},
    ],
}
_GROUP_VERSION: Final = {"groupVersion": API_VERSION, "version": VERSION}
_API_GROUP: Final = {"name": GROUP, "versions": [_GROUP_VERSION], "preferredVersion": _GROUP_VERSION}


class Lookup(NamedTuple):
    """Nodes and pods of the cluster."""

    nodes: Callable[[], Iterable[Tree]]
    #: Pods that are bound to a node.
    pods: Callable[[], Iterable[Tree]]


class MetricsAPI:
    """Handler of requests for node and pod metrics."""

    def __init__(self, lookup: Lookup, usage: ContainerUsage, *, clock: Clock) -> None:
        self._lookup: Final = lookup
        self._usage: Final = usage
        self._clock: Final = clock

    def answer(self, method: str, path: str, query: Mapping[str, str]) -> Tree:
        """Return the body of a response. Raises ``StatusError``."""
        match path.strip("/").split("/"):
            case ["apis"]:
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_API_GROUP]}
            case ["apis", group] if group == GROUP:
                return {"kind": "APIGroup", "apiVersion": "v1", **_API_GROUP}
            case ["apis", group, version] if (group, version) == (GROUP, VERSION):
                return _RESOURCES
            case ["apis", group, version, *rest] if (group, version) == (GROUP, VERSION):
                return self._objects(method, rest, query)
        raise path_not_found()

    def _objects(self, method: str, path: list[str], query: Mapping[str, str]) -> Tree:
        if method != "GET":
            raise method_not_supported(f"{path[0]}.{GROUP}", method.lower())
        match path:
            case ["nodes"]:
                return self._list("NodeMetricsList", self._nodes(), query)
            case ["nodes", name]:
                return self._one("nodes", name, self._nodes())
            case ["pods"]:
                return self._list("PodMetricsList", self._pods(""), query)
            case ["namespaces", namespace, "pods"]:
                return self._list("PodMetricsList", self._pods(namespace), query)
            case ["namespaces", namespace, "pods", name]:
                return self._one("pods", name, self._pods(namespace))
        raise path_not_found()

    @staticmethod
    def _one(resource: str, name: str, items: Iterable[Tree]) -> Tree:
        for item in items:
            if item["metadata"]["name"] == name:
                return item
        raise not_found(f"{resource}.{GROUP}", name)

    @staticmethod
    def _list(kind: str, items: Iterable[Tree], query: Mapping[str, str]) -> Tree:
        """Return a list, selected by labels and ``metadata.name`` or ``metadata.namespace``. Raises 400."""
        try:
            labels = parse_label_selector(query.get("labelSelector", ""))
            fields = parse_field_selector(query.get("fieldSelector", ""))
        except SelectorError as error:
            raise bad_request(str(error)) from None
        for requirement in fields.requirements:
            if requirement.field not in ("metadata.name", "metadata.namespace"):
                raise bad_request(f"field label not supported: {requirement.field}")
        selected = [
            item
            for item in items
            if labels.matches(item["metadata"].get("labels") or {})
            and all(
                (item["metadata"].get(requirement.field.partition(".")[2], "") == requirement.value)
                is requirement.equal
                for requirement in fields.requirements
            )
        ]
        return {"kind": kind, "apiVersion": API_VERSION, "metadata": {}, "items": selected}

    def _measured(self, kind: str, source: Tree) -> Tree:
        metadata = {
            key: source["metadata"][key] for key in ("name", "namespace", "labels") if key in source["metadata"]
        }
        timestamp = format_time(self._clock.now())
        return {
            "kind": kind,
            "apiVersion": API_VERSION,
            "metadata": {**metadata, "creationTimestamp": timestamp},
            "timestamp": timestamp,
            "window": f"{WINDOW_SECONDS}s",
        }

    def _pods(self, namespace: str) -> list[Tree]:
        """Return the metrics of pods with running containers; those with an invalid usage are omitted."""
        nodes = {node["metadata"]["name"]: node for node in self._lookup.nodes()}
        rows = []
        for pod in self._lookup.pods():
            if namespace and pod["metadata"].get("namespace") != namespace:
                continue
            usage = self._usage_of(pod, nodes)
            if usage:
                containers = [
                    {"name": name, "usage": quantities(resource_usage)} for name, resource_usage in usage.items()
                ]
                rows.append({**self._measured("PodMetrics", pod), "containers": containers})
        return rows

    def _nodes(self) -> list[Tree]:
        """Return the metrics of nodes: the sum of their pods."""
        nodes = {node["metadata"]["name"]: node for node in self._lookup.nodes()}
        totals = {name: dict.fromkeys(RESOURCES, 0.0) for name in nodes}
        for pod in self._lookup.pods():
            total = totals.get(pod["spec"].get("nodeName") or "")
            if total is not None:
                for resource_usage in self._usage_of(pod, nodes).values():
                    for resource in RESOURCES:
                        total[resource] += resource_usage[resource]
        return [
            {**self._measured("NodeMetrics", node), "usage": quantities(totals[name])} for name, node in nodes.items()
        ]

    def _usage_of(self, pod: Tree, nodes: Mapping[str, Tree]) -> dict[str, dict[str, float]]:
        node = nodes.get(pod["spec"].get("nodeName") or "")
        try:
            return container_usage(self._usage, pod, node=node, now=self._clock.now())
        except ValueError:  # an annotation is no quantity, or an expression fails
            return {}
