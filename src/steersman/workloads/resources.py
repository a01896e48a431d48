"""Resource requests of pods and capacities of nodes as integers: CPU in millicores, everything else in units or bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lightkube.models.core_v1 import Container, Pod

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"

#: Requests assumed for containers without any when nodes are scored; filtering ignores them. Upstream:
#: ``DefaultMilliCPURequest`` and ``DefaultMemoryRequest``.
DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY_BYTES: Final = 200 * 1024 * 1024

ResourceList = dict[str, int]


def is_native(resource: str) -> bool:
    """Report whether Kubernetes itself defines the resource: ``cpu``, ``kubernetes.io/batteries``."""
    return "/" not in resource or "kubernetes.io/" in resource


def is_extended(resource: str) -> bool:
    """Report whether the resource is an extended one, counted by a device plugin or a DRA driver: ``example.com/gpu``."""
    return not is_native(resource) and not resource.startswith("requests.")


def is_scalar(resource: str) -> bool:
    """Report whether the resource is a scalar one, which scoring ignores for pods that do not request it."""
    return "/" in resource or resource.startswith(("hugepages-", "attachable-volumes-"))


def parse_resource(resource: str, text: str) -> int:
    """Return a quantity of ``resource`` as an integer, rounded up."""
    quantity = parse(text)
    return quantity.milli if resource == CPU else int(quantity)


def parse_resource_list(quantities: Mapping[str, str] | None) -> ResourceList:
    """Return a ResourceList with integer values."""
    return {name: parse_resource(name, str(text)) for name, text in (quantities or {}).items()}


def pod_requests(pod: Pod) -> ResourceList:
    """Return the effective requests of a pod: the sum of its containers or the largest init step, plus overhead.

    Sidecars (KEP-753) count together with the steps after them; pod-level requests (KEP-2837) replace the sum. During a
    resize (KEP-1287, KEP-5419) the maximum of requested, allocated and actual resources counts.
    Upstream: ``PodRequests`` in k8s.io/component-helpers/resource.
    """
    return _effective_requests(pod, {})


def pod_nonzero_requests(pod: Pod) -> ResourceList:
    """Return CPU and memory requests of a pod for scoring, with defaults for containers that request nothing."""
    whole = _effective_requests(pod, {CPU: DEFAULT_MILLI_CPU, MEMORY: DEFAULT_MEMORY_BYTES})
    return {CPU: whole.get(CPU, 0), MEMORY: whole.get(MEMORY, 0)}


def _effective_requests(pod: Pod, defaults: ResourceList) -> ResourceList:
    spec: Any = pod.spec  # Pods of a server have one
    status = pod.status
    is_infeasible = _is_resize_infeasible(pod)
    running: ResourceList = {}
    for container in spec.containers:
        _add_in_place(running, _container(pod, container, defaults, is_infeasible=is_infeasible))
    sidecars: ResourceList = {}
    starting: ResourceList = {}
    for container in spec.initContainers or ():
        requests = _container(pod, container, defaults, is_infeasible=is_infeasible)
        if container.restartPolicy == "Always":
            _add_in_place(sidecars, requests)
            _max_in_place(starting, sidecars)
        else:
            step = dict(sidecars)
            _add_in_place(step, requests)
            _max_in_place(starting, step)
    _add_in_place(running, sidecars)
    _max_in_place(running, starting)
    requested = parse_resource_list(spec.resources.requests) if spec.resources is not None else {}
    if requested and status is not None:
        running.update(
            _during_resize(requested, status.allocatedResources, status.resources, is_infeasible=is_infeasible)
        )
    else:
        running.update(requested)
    _add_in_place(running, parse_resource_list(spec.overhead))
    return running


def _container(pod: Pod, container: Container, defaults: ResourceList, *, is_infeasible: bool) -> ResourceList:
    requests = parse_resource_list(container.resources.requests if container.resources is not None else None)
    for status in _statuses(pod):
        if status.name == container.name:
            requests = _during_resize(
                requests, status.allocatedResources, status.resources, is_infeasible=is_infeasible
            )
    return {**defaults, **requests} if defaults else requests


def _during_resize(
    requested: ResourceList, allocated: Mapping[str, str] | None, actual: Any, *, is_infeasible: bool
) -> ResourceList:
    """Return the maximum of requested, allocated and actual resources; an infeasible resize is ignored."""
    status_requests = parse_resource_list(allocated)
    if actual is not None:
        _max_in_place(status_requests, parse_resource_list(actual.requests))
    requests = status_requests if is_infeasible and status_requests else dict(requested)
    _max_in_place(requests, status_requests)
    return requests


def _is_resize_infeasible(pod: Pod) -> bool:
    """Report whether the kubelet has declared the pending resize infeasible."""
    conditions = (pod.status.conditions if pod.status is not None else None) or ()
    return any(condition.type == "PodResizePending" and condition.reason == "Infeasible" for condition in conditions)


def _statuses(pod: Pod) -> Iterator[Any]:
    status = pod.status
    if status is not None:
        yield from status.containerStatuses or ()
        yield from status.initContainerStatuses or ()


def _add_in_place(total: ResourceList, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _max_in_place(total: ResourceList, other: Mapping[str, int]) -> None:
    for name, value in other.items():
        if value > total.get(name, 0):
            total[name] = value


def add_resources(total: ResourceList, more: Iterable[tuple[str, int]], sign: int = 1) -> None:
    """Add ``more`` to ``total`` in place, or subtract it with ``sign`` -1."""
    for name, value in more:
        total[name] = total.get(name, 0) + sign * value
