"""Usage of the containers, pods and the whole of one node at one time, for the pages of its kubelet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.timestamps import parse_time
from steersman.nodes.metrics.usage import container_usage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.metrics.usage import ContainerUsage


class Usage(NamedTuple):
    """Usage of a container, a pod or a node."""

    cores: float = 0.0
    #: CPU time since the start.
    core_seconds: float = 0.0
    memory_bytes: float = 0.0

    def plus(self, other: Usage) -> Usage:
        """Return the sum."""
        return Usage(
            self.cores + other.cores, self.core_seconds + other.core_seconds, self.memory_bytes + other.memory_bytes
        )


class ContainerSample(NamedTuple):
    """A running container."""

    name: str
    #: Its entry of ``status.containerStatuses``.
    status: Tree
    started: datetime
    usage: Usage


class PodSample(NamedTuple):
    """A pod with running containers."""

    pod: Tree
    containers: Sequence[ContainerSample]

    @property
    def usage(self) -> Usage:
        """Return the sum of the containers."""
        return _sum(container.usage for container in self.containers)


class NodeSample(NamedTuple):
    """A node with its pods."""

    node: Tree
    time: datetime
    pods: Sequence[PodSample]
    #: The usage of a pod could not be determined; the pod is not among ``pods``.
    is_incomplete: bool

    @property
    def usage(self) -> Usage:
        """Return the sum of the pods."""
        return _sum(pod.usage for pod in self.pods)


class NodeUsage:
    """Sampler of nodes. CPU time is the integral of the usage at the times of the samples, so it never decreases."""

    def __init__(self, usage: ContainerUsage) -> None:
        self._usage: Final = usage
        #: Node → pod's UID, container, its start → time of the last sample, CPU time until then.
        self._cpu: Final[dict[str, dict[tuple[str, str, datetime], tuple[datetime, float]]]] = {}

    def sample(self, node: Tree, pods: Iterable[Tree], *, now: datetime) -> NodeSample:
        """Return the usage of a node, and forget its containers that do not run any more."""
        name = node["metadata"]["name"]
        before = self._cpu.get(name, {})
        after: dict[tuple[str, str, datetime], tuple[datetime, float]] = {}
        samples, is_incomplete = [], False
        for pod in pods:
            try:
                usage = container_usage(self._usage, pod, node=node, now=now)
            except ValueError:  # an annotation is no quantity, or an expression fails
                is_incomplete = True
                continue
            containers = []
            for container, amounts in usage.items():
                status = _status(pod, container)
                started = parse_time(status["state"]["running"]["startedAt"])
                key = (pod["metadata"].get("uid", ""), container, started)
                last, seconds = before.get(key, (started, 0.0))
                seconds += amounts["cpu"] * max(0.0, (now - last).total_seconds())
                after[key] = (max(now, last), seconds)
                containers.append(
                    ContainerSample(container, status, started, Usage(amounts["cpu"], seconds, amounts["memory"]))
                )
            if containers:
                samples.append(PodSample(pod, containers))
        self._cpu[name] = after
        return NodeSample(node, now, samples, is_incomplete)

    def retain(self, nodes: Collection[str]) -> None:
        """Forget all nodes but these."""
        for name in [name for name in self._cpu if name not in nodes]:
            del self._cpu[name]


def _status(pod: Tree, container: str) -> Tree:
    statuses: Sequence[Tree] = pod["status"]["containerStatuses"]
    return next(status for status in statuses if status["name"] == container)


def _sum(usages: Iterable[Usage]) -> Usage:
    total = Usage()
    for usage in usages:
        total = total.plus(usage)
    return total
