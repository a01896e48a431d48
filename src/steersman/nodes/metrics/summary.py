"""``/stats/summary`` of a kubelet.

Upstream: staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go. Only CPU and memory are simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import quantity
from steersman.apimachinery.timestamps import format_time

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.nodes.metrics.node_usage import ContainerSample, NodeSample, PodSample, Usage

_NANOS: Final = 10**9


def summary(sample: NodeSample) -> Tree:
    """Return a ``Summary``."""
    node, time = sample.node, format_time(sample.time)
    capacity = ((node.get("status") or {}).get("capacity") or {}).get("memory")
    return {
        "node": {
            "nodeName": node["metadata"]["name"],
            "startTime": node["metadata"].get("creationTimestamp"),
            **_measured(sample.usage, time, memory_limit=capacity),
        },
        "pods": [_pod(pod, time) for pod in sample.pods],
    }


def _pod(sample: PodSample, time: str) -> Tree:
    metadata = sample.pod["metadata"]
    specs = {container["name"]: container for container in sample.pod["spec"].get("containers") or ()}
    return {
        "podRef": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata.get("uid", "")},
        "startTime": sample.pod["status"].get("startTime"),
        "containers": [_container(container, specs.get(container.name) or {}, time) for container in sample.containers],
        **_measured(sample.usage, time),
    }


def _container(sample: ContainerSample, spec: Tree, time: str) -> Tree:
    limit = ((spec.get("resources") or {}).get("limits") or {}).get("memory")
    return {
        "name": sample.name,
        "startTime": format_time(sample.started),
        **_measured(sample.usage, time, memory_limit=limit),
    }


def _measured(usage: Usage, time: str, *, memory_limit: str | None = None) -> Tree:
    memory_bytes = round(usage.memory_bytes)
    memory: Tree = {"time": time, "usageBytes": memory_bytes, "workingSetBytes": memory_bytes, "rssBytes": memory_bytes}
    if memory_limit:
        memory["availableBytes"] = max(0, quantity.parse(memory_limit).nanos // _NANOS - memory_bytes)
    return {
        "cpu": {
            "time": time,
            "usageNanoCores": round(usage.cores * _NANOS),
            "usageCoreNanoSeconds": round(usage.core_seconds * _NANOS),
        },
        "memory": memory,
    }
