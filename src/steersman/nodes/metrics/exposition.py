"""``/metrics``, ``/metrics/resource``, ``/metrics/cadvisor`` and ``/metrics/probes`` of a kubelet in the Prometheus text format.

Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go, pkg/kubelet/prober/prober_manager.go, and
github.com/google/cadvisor/metrics/prometheus.go. Only CPU and memory are simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import quantity
from steersman.apimachinery.metric_levels import with_level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.metrics.node_usage import ContainerSample, NodeSample, PodSample, Usage

    #: Labels and value of a sample.
    Sample = tuple[dict[str, str], float]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_NANOS: Final = 10**9
#: Period of CPU quotas in microseconds. Upstream: ``QuotaPeriod``.
_CPU_PERIOD: Final = 100_000


def kubelet_metrics(sample: NodeSample) -> str:
    """Return ``/metrics`` of one node. Upstream: pkg/kubelet/metrics/metrics.go."""
    page = _Page(sample, levels=True)
    name = sample.node["metadata"]["name"]
    containers = sum(len(pod.containers) for pod in sample.pods)
    page.gauge("kubelet_node_name", "The node; always 1.", [({"node": name}, 1)], with_time=False)
    page.gauge("kubelet_running_pods", "Pods with running containers.", [({}, len(sample.pods))], with_time=False)
    page.gauge(
        "kubelet_running_containers",
        "Containers by state.",
        [({"container_state": "running"}, containers)],
        with_time=False,
    )
    return page.text()


def resource_metrics(sample: NodeSample) -> str:
    """Return ``/metrics/resource``, which metrics-server reads."""
    page = _Page(sample, levels=True)
    usage = sample.usage
    containers = [
        ({"container": container.name, **_pod_labels(pod)}, container)
        for pod in sample.pods
        for container in pod.containers
    ]
    pods = [(_pod_labels(pod), pod.usage) for pod in sample.pods]
    page.counter(
        "container_cpu_usage_seconds_total",
        "CPU time of a container in core-seconds.",
        [(labels, container.usage.core_seconds) for labels, container in containers],
    )
    page.gauge(
        "container_memory_working_set_bytes",
        "Working set of a container in bytes.",
        [(labels, container.usage.memory_bytes) for labels, container in containers],
    )
    page.gauge(
        "container_start_time_seconds",
        "Start of a container in seconds since 1970.",
        [(labels, container.started.timestamp()) for labels, container in containers],
    )
    page.counter("node_cpu_usage_seconds_total", "CPU time of the node in core-seconds.", [({}, usage.core_seconds)])
    page.gauge("node_memory_working_set_bytes", "Working set of the node in bytes.", [({}, usage.memory_bytes)])
    page.counter(
        "pod_cpu_usage_seconds_total",
        "CPU time of a pod in core-seconds.",
        [(labels, pod_usage.core_seconds) for labels, pod_usage in pods],
    )
    page.gauge(
        "pod_memory_working_set_bytes",
        "Working set of a pod in bytes.",
        [(labels, pod_usage.memory_bytes) for labels, pod_usage in pods],
    )
    page.gauge(
        "resource_scrape_error",
        "1 if the usage of a container could not be determined.",
        [({}, int(sample.is_incomplete))],
        with_time=False,
    )
    return page.text()


def cadvisor_metrics(sample: NodeSample) -> str:
    """Return ``/metrics/cadvisor``: of the containers, and of the cgroups of pods and of the node."""
    page = _Page(sample, levels=False)
    groups = list(_cgroups(sample))
    used: list[tuple[dict[str, str], Usage]] = [(labels, usage) for labels, usage, *_ in groups]
    page.counter(
        "container_cpu_usage_seconds_total",
        "CPU time in seconds.",
        [({"cpu": "total", **labels}, usage.core_seconds) for labels, usage in used],
    )
    for name, text in (
        ("container_memory_usage_bytes", "Memory in use in bytes."),
        ("container_memory_working_set_bytes", "Working set in bytes."),
        ("container_memory_rss", "Resident set in bytes."),
    ):
        page.gauge(name, text, [(labels, usage.memory_bytes) for labels, usage in used])
    for name, text in (
        ("container_memory_cache", "Memory of the page cache in bytes."),
        ("container_memory_swap", "Swap in use in bytes."),
    ):
        page.gauge(name, text, [(labels, 0) for labels, _ in used])
    page.gauge(
        "container_start_time_seconds",
        "Start in seconds since 1970.",
        [(labels, container.started.timestamp()) for labels, _, container, _ in groups if container is not None],
    )
    page.gauge(
        "container_last_seen", "Time of the last sample in seconds.", [(labels, page.seconds) for labels, _ in used]
    )
    _limits(page, [(labels, spec) for labels, _, container, spec in groups if container is not None])
    capacity = (sample.node.get("status") or {}).get("capacity") or {}
    page.gauge("machine_cpu_cores", "Cores of the node.", [({}, _amount(capacity.get("cpu") or "0"))])
    page.gauge("machine_memory_bytes", "Memory of the node in bytes.", [({}, _amount(capacity.get("memory") or "0"))])
    return page.text()


def probe_metrics(sample: NodeSample) -> str:
    """Return ``/metrics/probes``: without series, because simulated containers are not probed."""
    page = _Page(sample, levels=True)
    page.counter("prober_probe_total", "Probes of a container by type and result.", [])
    return page.text()


def _cgroups(sample: NodeSample) -> Iterable[tuple[dict[str, str], Usage, ContainerSample | None, Tree]]:
    """Yield labels and usage; for containers also their sample and specification."""
    yield _cgroup_labels("/"), sample.usage, None, {}
    for pod in sample.pods:
        parent = f"/kubepods/pod{pod.pod['metadata'].get('uid', '')}"
        yield _cgroup_labels(parent, **_pod_labels(pod)), pod.usage, None, {}
        specs = {container["name"]: container for container in pod.pod["spec"].get("containers") or ()}
        for container in pod.containers:
            name = (container.status.get("containerID") or container.name).rpartition("//")[2]
            labels = _cgroup_labels(
                f"{parent}/{name}",
                **_pod_labels(pod),
                container=container.name,
                image=container.status.get("image") or "",
                name=name,
            )
            yield labels, container.usage, container, specs.get(container.name) or {}


def _limits(page: _Page, containers: list[tuple[dict[str, str], Tree]]) -> None:
    """Add the limits of containers."""
    quotas: list[Sample] = []
    periods: list[Sample] = []
    memory: list[Sample] = []
    for labels, spec in containers:
        limits = (spec.get("resources") or {}).get("limits") or {}
        periods.append((labels, _CPU_PERIOD))
        if limits.get("cpu"):
            quotas.append((labels, _amount(limits["cpu"]) * _CPU_PERIOD))
        memory.append((labels, _amount(limits.get("memory") or "0")))
    page.gauge("container_spec_cpu_period", "CPU period in microseconds.", periods)
    page.gauge("container_spec_cpu_quota", "CPU quota in microseconds per period.", quotas)
    page.gauge("container_spec_memory_limit_bytes", "Memory limit in bytes; 0 without a limit.", memory)


def _cgroup_labels(path: str, **labels: str) -> dict[str, str]:
    empty = dict.fromkeys(("container", "image", "name", "namespace", "pod"), "")
    return {**empty, **labels, "id": path}


def _pod_labels(sample: PodSample) -> dict[str, str]:
    metadata = sample.pod["metadata"]
    return {"namespace": metadata["namespace"], "pod": metadata["name"]}


def _amount(text: str) -> float:
    return quantity.parse(text).nanos / _NANOS


class _Page:
    """Lines of a page; samples have the time of the measurement, as cAdvisor's."""

    def __init__(self, sample: NodeSample, *, levels: bool) -> None:
        """``levels``: help texts begin with the stability level."""
        self.seconds: Final = sample.time.timestamp()
        self._levels: Final = levels
        self._lines: Final[list[str]] = []

    def counter(self, name: str, text: str, samples: Iterable[Sample]) -> None:
        """Add a counter."""
        self._add(name, "counter", text, samples, with_time=True)

    def gauge(self, name: str, text: str, samples: Iterable[Sample], *, with_time: bool = True) -> None:
        """Add a gauge."""
        self._add(name, "gauge", text, samples, with_time=with_time)

    def text(self) -> str:
        """Return all lines."""
        return "".join(f"{line}\n" for line in self._lines)

    def _add(self, name: str, kind: str, text: str, samples: Iterable[Sample], *, with_time: bool) -> None:
        described = with_level(name, text) if self._levels else text
        self._lines.extend([f"# HELP {name} {described}", f"# TYPE {name} {kind}"])
        stamp = f" {round(self.seconds * 1000)}" if with_time else ""
        for labels, value in samples:
            pairs = ",".join(f'{label}="{_escape(text)}"' for label, text in sorted(labels.items()))
            self._lines.append(f"{name}{{{pairs}}} {value!r}{stamp}" if pairs else f"{name} {value!r}{stamp}")


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
