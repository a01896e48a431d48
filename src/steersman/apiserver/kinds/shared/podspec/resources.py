"""Requests and limits: what follows from what, and the QoS class that follows from both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.quantity import Quantity, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree

#: Resources that count for the QoS class, and that a pod may have as a whole (huge pages too, for the latter).
QOS_RESOURCES: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"
_ZERO: Final = Quantity(0)


def default_resource_requirements(resources: Tree) -> None:
    """Bring the quantities of ``requests`` and ``limits`` to a scale that is kept."""
    for key in ("limits", "requests"):
        if amounts := resources.get(key):
            round_resource_list(amounts)


def round_resource_list(amounts: Tree) -> None:
    """Round up what is finer than a thousandth, as canonical texts tell: no resource is counted in smaller pieces."""
    for name, amount in amounts.items():
        if amount[-1:] in ("u", "n") or "e-" in amount or "E-" in amount or "." in amount:
            quantity = parse(amount)
            amounts[name] = str(Quantity.of_milli(quantity.milli, quantity.format))


def default_requests_from_limits(resources: Tree) -> None:
    """Take each missing request of a container from its limit."""
    limits = resources.get("limits")
    if limits:
        requests = resources.setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)


def default_pod_level_resources(spec: Tree) -> None:
    """Complete the resources of the pod as a whole, once its containers are complete.

    Of a pod with limits: where containers request something, their sum is requested; else what the pod is limited to.
    Huge pages cannot be overcommitted, so that there the containers' limits make the pod's, if it requests none.
    """
    resources = spec["resources"]
    requests = dict(resources.get("requests") or {})
    if resources.get("limits") or requests:
        for name, amount in container_totals(spec, "limits").items():
            if name.startswith(_HUGE_PAGES) and name not in requests and name not in (resources.get("limits") or {}):
                resources.setdefault("limits", {})[name] = str(amount)
    if not resources.get("limits"):
        return
    for name, amount in container_totals(spec, "requests").items():
        if name in QOS_RESOURCES:
            requests.setdefault(name, str(amount))
    for name, limit in (resources.get("limits") or {}).items():
        if is_pod_level_resource(name):
            requests.setdefault(name, limit)
    if requests:
        resources["requests"] = requests


def is_pod_level_resource(name: str) -> bool:
    """Whether a pod as a whole may request or limit the resource."""
    return name in QOS_RESOURCES or name.startswith(_HUGE_PAGES)


def is_sidecar(container: Tree) -> bool:
    """Whether an init container goes on while the others run."""
    return container.get("restartPolicy") == "Always"


def pod_totals(spec: Tree, key: str, *, with_overhead: bool = True) -> dict[str, Quantity]:
    """What the pod takes of each resource: its own where it says so, else its containers', and the overhead.

    ``key`` is ``requests`` or ``limits``; overhead raises only limits that are there.
    """
    totals = container_totals(spec, key)
    for name, amount in ((spec.get("resources") or {}).get(key) or {}).items():
        totals[name] = parse(amount)
    for name, amount in ((spec.get("overhead") if with_overhead else None) or {}).items():
        if key == "requests" or totals.get(name):
            totals[name] = totals.get(name, _ZERO) + parse(amount)
    return totals


def container_totals(spec: Tree, key: str) -> dict[str, Quantity]:
    """What the containers need together of each resource; ``key`` is ``requests`` or ``limits``.

    Containers and sidecars add up; an init container runs beside the sidecars before it, and the highest sum counts.
    """
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _quantities(container, key))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        own = _quantities(container, key)
        if is_sidecar(container):
            _add(total, own)
            _add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            beside = dict(sidecars)
            _add(beside, own)
            _raise_to(peak, beside)
    _raise_to(total, peak)
    return total


def qos_class(spec: Tree) -> str:
    """``Guaranteed``, ``Burstable`` or ``BestEffort``: by the pod's own resources where it has any, else its containers'.

    Ephemeral containers cannot have resources and do not count.
    """
    own = spec.get("resources")
    holders = [own] if own is not None else [container.get("resources") for container in _containers(spec)]
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    limited = True
    for resources in holders:
        _add(requests, _counted((resources or {}).get("requests")))
        own_limits = _counted((resources or {}).get("limits"))
        _add(limits, own_limits)
        if len(own_limits) < len(QOS_RESOURCES):
            limited = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if limited and requests == limits else "Burstable"


def _containers(spec: Tree) -> Iterator[Tree]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _counted(amounts: Tree | None) -> dict[str, Quantity]:
    """What counts for the QoS class: more than nothing of a compute resource."""
    counted: dict[str, Quantity] = {}
    if amounts:
        for name in QOS_RESOURCES:
            if name in amounts and (amount := parse(amounts[name])) > _ZERO:
                counted[name] = amount
    return counted


def _quantities(container: Tree, key: str) -> dict[str, Quantity]:
    amounts = (container.get("resources") or {}).get(key) or {}
    return {name: parse(amount) for name, amount in amounts.items()}


def _add(total: dict[str, Quantity], more: dict[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: dict[str, Quantity], other: dict[str, Quantity]) -> None:
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount
