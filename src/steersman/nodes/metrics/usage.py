"""Simulated resource usage of containers.

The usage of a container is that of the ``ResourceUsage`` and ``ClusterResourceUsage`` documents of KWOK if there are any.
Otherwise it is the pod's annotation ``kwok.x-k8s.io/usage-<resource>``, or half of the container's request, or a minimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from random import Random

    from steersman.apimachinery.trees import Tree

    #: Usage in cores or bytes: pod, container, resource, node, time. Raises ``ValueError``.
    ContainerUsage = Callable[[Tree, str, str, Tree | None, datetime], float]

RESOURCES: Final = ("cpu", "memory")
#: Annotations of KWOK's ``usage-from-annotation``.
ANNOTATION_PREFIX: Final = "kwok.x-k8s.io/usage-"
_MINIMUM: Final = {"cpu": 0.001, "memory": float(2**20)}
_NANOS: Final = 10**9


def default_usage(pod: Tree, container: str, resource: str, node: Tree | None, now: datetime) -> float:
    """Return the usage without documents. Raises ``ValueError`` for an annotation that is no quantity."""
    del node, now
    text = (pod["metadata"].get("annotations") or {}).get(ANNOTATION_PREFIX + resource)
    if text:
        return _amount(text)
    for container_spec in pod["spec"].get("containers") or ():
        request = ((container_spec.get("resources") or {}).get("requests") or {}).get(resource)
        if container_spec["name"] == container and request:
            return max(_MINIMUM[resource], _amount(request) / 2)
    return _MINIMUM[resource]


def usage_of_documents(documents: Sequence[Any], *, dice: Random) -> ContainerUsage:
    """Return the usage that documents of KWOK describe; ``default_usage`` without any. Raises TemplateError."""
    if not documents:
        return default_usage
    from steersman.nodes.kwok.usage_pages import read_usage  # noqa: PLC0415 — loads CEL

    usages = read_usage(documents, dice=dice).usages

    def usage(pod: Tree, container: str, resource: str, node: Tree | None, now: datetime) -> float:
        return usages.of_container(pod, container, resource, node=node, now=now)

    return usage


def running_containers(pod: Tree) -> list[str]:
    """Return the names of running containers."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return [
        status["name"] for status in statuses if ((status.get("state") or {}).get("running") or {}).get("startedAt")
    ]


def container_usage(
    usage: ContainerUsage, pod: Tree, *, node: Tree | None, now: datetime
) -> dict[str, dict[str, float]]:
    """Return the usage of each running container by resource. Raises ``ValueError``."""
    return {
        name: {resource: usage(pod, name, resource, node, now) for resource in RESOURCES}
        for name in running_containers(pod)
    }


def quantities(usage: dict[str, float]) -> dict[str, str]:
    """Return amounts as the quantities that metrics-server reports: cpu in nanocores, memory in Ki."""
    return {"cpu": f"{round(usage['cpu'] * _NANOS)}n", "memory": f"{round(usage['memory'] / 1024)}Ki"}


def _amount(text: str) -> float:
    return quantity.parse(text).nanos / _NANOS
