"""What pods ask for and nodes have, in whole numbers: CPU in thousandths, all else in units (bytes, pieces)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from steersman.scheduler.objects import Container, Pod

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"

#: What containers without a request are taken to use when nodes are compared (never when it is asked whether they fit).
DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY_BYTES: Final = 200 * 1024 * 1024

Amounts = dict[str, int]


def is_native(resource: str) -> bool:
    """Kubernetes' own, such as ``cpu`` or ``kubernetes.io/batteries``."""
    return "/" not in resource or "kubernetes.io/" in resource


def is_extended(resource: str) -> bool:
    """Somebody else's, such as ``example.com/gpu``: a driver or a device plugin counts it."""
    return not is_native(resource) and not resource.startswith("requests.")


def is_scalar(resource: str) -> bool:
    """Counted in pieces, and of no interest to pods that do not ask for it."""
    return "/" in resource or resource.startswith(("hugepages-", "attachable-volumes-"))


def amount(resource: str, text: str) -> int:
    """One quantity as a whole number, rounded up."""
    quantity = parse(text)
    return quantity.milli if resource == CPU else int(quantity)


def amounts(quantities: Mapping[str, str] | None) -> Amounts:
    """Quantities as whole numbers."""
    return {name: amount(name, str(text)) for name, text in (quantities or {}).items()}


def requests_of(pod: Pod) -> Amounts:
    """What a pod takes of its node: containers together, or the hungriest step of its start; overhead on top.

    Sidecars (KEP-753) run beside all that starts after them; requests at pod level (KEP-2837) replace the sum. What is
    being resized (KEP-1287, KEP-5419) counts as the most of what was asked, allotted and is in force.
    """
    return _together(pod, {})


def usage_of(pod: Pod) -> Amounts:
    """As ``requests_of`` for CPU and memory, with a little for containers that ask for nothing."""
    whole = _together(pod, {CPU: DEFAULT_MILLI_CPU, MEMORY: DEFAULT_MEMORY_BYTES})
    return {CPU: whole.get(CPU, 0), MEMORY: whole.get(MEMORY, 0)}


def _together(pod: Pod, least: Amounts) -> Amounts:
    spec, status = pod.spec, pod.status
    hopeless = _is_hopeless(pod)
    running: Amounts = {}
    for container in spec.containers:
        _add(running, _container(pod, container, least, hopeless=hopeless))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.initContainers or ():
        own = _container(pod, container, least, hopeless=hopeless)
        if container.restartPolicy == "Always":
            _add(sidecars, own)
            _raise_to(starting, sidecars)
        else:
            step = dict(sidecars)
            _add(step, own)
            _raise_to(starting, step)
    _add(running, sidecars)
    _raise_to(running, starting)
    asked = amounts(spec.resources.requests) if spec.resources is not None else {}
    if asked and status is not None:
        running.update(_in_force(asked, status.allocatedResources, status.resources, hopeless=hopeless))
    else:
        running.update(asked)
    _add(running, amounts(spec.overhead))
    return running


def _container(pod: Pod, container: Container, least: Amounts, *, hopeless: bool) -> Amounts:
    found = amounts(container.resources.requests if container.resources is not None else None)
    for status in _statuses(pod):
        if status.name == container.name:
            found = _in_force(found, status.allocatedResources, status.resources, hopeless=hopeless)
    return {**least, **found} if least else found


def _in_force(asked: Amounts, allotted: Mapping[str, str] | None, actual: Any, *, hopeless: bool) -> Amounts:
    """The most of all three; what was asked does not count when the node can never give it."""
    told = amounts(allotted)
    if actual is not None:
        _raise_to(told, amounts(actual.requests))
    found = told if hopeless and told else dict(asked)
    _raise_to(found, told)
    return found


def _is_hopeless(pod: Pod) -> bool:
    """Whether the kubelet says that a resize can never be done."""
    conditions = (pod.status.conditions if pod.status is not None else None) or ()
    return any(each.type == "PodResizePending" and each.reason == "Infeasible" for each in conditions)


def _statuses(pod: Pod) -> Iterator[Any]:
    status = pod.status
    if status is not None:
        yield from status.containerStatuses or ()
        yield from status.initContainerStatuses or ()


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: Amounts, least: Mapping[str, int]) -> None:
    for name, value in least.items():
        if value > total.get(name, 0):
            total[name] = value


def plus(total: Amounts, more: Iterable[tuple[str, int]], sign: int = 1) -> None:
    """Add in place, or take away with ``sign`` -1."""
    for name, value in more:
        total[name] = total.get(name, 0) + sign * value
