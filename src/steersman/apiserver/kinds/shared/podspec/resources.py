"""Defaults and totals of requests and limits, and the QoS class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.quantity import Quantity, parse

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

#: Resources of the QoS class, which Pod-level resources may have too (together with huge pages).
QOS_RESOURCES: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"
_ZERO: Final = Quantity(0)


def default_resource_requirements(resources: Tree) -> None:
    """Round ``requests`` and ``limits`` to a supported scale."""
    for key in ("limits", "requests"):
        if amounts := resources.get(key):
            round_resource_list(amounts)


def round_resource_list(amounts: Tree) -> None:
    """Round amounts up to milli-units, on their canonical text. Upstream: ``SetDefaults_ResourceList``."""
    for name, amount in amounts.items():
        if amount[-1:] in ("u", "n") or "e-" in amount or "E-" in amount or "." in amount:
            quantity = parse(amount)
            amounts[name] = str(Quantity.of_milli(quantity.milli, quantity.format))


def default_requests_from_limits(resources: Tree) -> None:
    """Default each missing request of a container from its limit."""
    limits = resources.get("limits")
    if limits:
        requests = resources.setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)


def default_pod_level_resources(spec: Tree) -> None:
    """Default Pod-level requests and limits; containers must be defaulted already.

    Of a Pod with limits, requests default to the sum of container requests, else to the limits. As huge pages cannot be
    overcommitted, their limits default to the sum of container limits if no request is set.
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
    """Report whether Pod-level resources may have the resource. Upstream: ``IsSupportedPodLevelResource``."""
    return name in QOS_RESOURCES or name.startswith(_HUGE_PAGES)


def is_sidecar(container: Tree) -> bool:
    """Report whether an init container is restartable (a sidecar)."""
    return container.get("restartPolicy") == "Always"


def pod_totals(spec: Tree, key: str, *, with_overhead: bool = True) -> dict[str, Quantity]:
    """Return the Pod's total of each resource: Pod-level values, else those of containers, plus overhead.

    ``key`` is ``requests`` or ``limits``; overhead is added only to limits that are set.
    """
    totals = container_totals(spec, key)
    for name, amount in ((spec.get("resources") or {}).get(key) or {}).items():
        totals[name] = parse(amount)
    for name, amount in ((spec.get("overhead") if with_overhead else None) or {}).items():
        if key == "requests" or totals.get(name):
            totals[name] = totals.get(name, _ZERO) + parse(amount)
    return totals


def container_totals(spec: Tree, key: str) -> dict[str, Quantity]:
    """Return the containers' total of each resource; ``key`` is ``requests`` or ``limits``.

    Containers and sidecars add up; an init container adds to the sidecars before it; the maximum counts.
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
    """Return ``Guaranteed``, ``Burstable`` or ``BestEffort``, from Pod-level resources if set, else from containers.

    Ephemeral containers have no resources and do not count.
    """
    own = spec.get("resources")
    if own is not None:
        holders: list[Tree | None] = [own]
    else:
        holders = [container.get("resources") for container in spec.get("containers") or ()]
        if others := spec.get("initContainers"):
            holders += [container.get("resources") for container in others]
    is_best_effort = is_limited = is_equal = True
    for name in QOS_RESOURCES:
        excess = 0  # of requests over limits
        for resources in holders:
            requested = limit = 0
            if resources:
                requested, limit = _nanos(resources.get("requests"), name), _nanos(resources.get("limits"), name)
            if requested or limit:
                is_best_effort = False
            if not limit:
                is_limited = False
            excess += requested - limit
        if excess:
            is_equal = False
    if is_best_effort:
        return "BestEffort"
    return "Guaranteed" if is_limited and is_equal else "Burstable"


def _nanos(amounts: Tree | None, name: str) -> int:
    """Return a positive amount in billionths, 0 if there is none."""
    amount = amounts.get(name) if amounts else None
    if amount is None:
        return 0
    nanos = parse(amount).nanos
    return max(0, nanos)


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
