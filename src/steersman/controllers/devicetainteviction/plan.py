"""Eviction times of pods, and the rules that cause them. Pure rules of ``pkg/controller/devicetainteviction``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.timestamps import add_seconds
from steersman.client.objects import name_of, namespace_of
from steersman.workloads.node_matching import NO_EXECUTE, tolerates
from steersman.workloads.resource_claims import consumers, is_pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from lightkube.models.resource_v1 import DeviceRequestAllocationResult, DeviceTaint, ResourceClaim, ResourceSlice
    from lightkube.models.resource_v1beta2 import DeviceTaintRule

    #: ``DeviceTaint`` of a slice or a rule, in either API version.
    AnyTaint = Any
    #: Slices of a pool, by its ``pool_key``.
    SlicesOf = Callable[[str], Iterable[ResourceSlice]]

#: Reason and message of the condition ``DisruptionTarget``.
REASON: Final = "DeletionByDeviceTaintManager"
MESSAGE: Final = "Device Taint manager: deleting due to NoExecute taint"
#: Longer tolerations are unlimited, because their end may exceed the range of datetime.
_SECONDS_MAX: Final = 100 * 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Eviction:
    """Time at which pods that use a claim are evicted, and the responsible rules."""

    when: datetime
    #: Names of the responsible DeviceTaintRules.
    rules: frozenset[str]


def pool_key(driver: str, pool: str) -> str:
    """Return the key of a pool, whose name is unique per driver only."""
    return f"{driver}/{pool}"


def pool_of(slice_: ResourceSlice) -> str:
    """Return the pool of a slice."""
    return pool_key(slice_.spec.driver, slice_.spec.pool.name)


def results_of(claim: ResourceClaim) -> list[DeviceRequestAllocationResult]:
    """Return the devices allocated for a claim."""
    allocation = claim.status.allocation if claim.status else None
    return (allocation.devices.results if allocation and allocation.devices else None) or []


def pools_of(claim: ResourceClaim) -> set[str]:
    """Return the pools of the claim's devices."""
    return {pool_key(result.driver, result.pool) for result in results_of(claim)}


def pod_keys(claim: ResourceClaim) -> list[str]:
    """Return the keys of the pods that an allocated claim is reserved for."""
    if not results_of(claim):
        return []
    return [f"{namespace_of(claim)}/{consumer.name}" for consumer in consumers(claim) if is_pod(consumer)]


def evicting_taints(slice_: ResourceSlice) -> tuple[int, dict[str, list[DeviceTaint]]]:
    """Return the pool generation of a slice and the ``NoExecute`` taints by device."""
    tainted = {device.name: _evicting(device.taints) for device in slice_.spec.devices or ()}
    return slice_.spec.pool.generation, {name: taints for name, taints in tainted.items() if taints}


def _evicting(taints: Sequence[DeviceTaint] | None) -> list[DeviceTaint]:
    return [taint for taint in taints or () if taint.effect == NO_EXECUTE]


def newest(slices: Iterable[ResourceSlice]) -> list[ResourceSlice]:
    """Return the slices of the latest generation of a pool; others are outdated."""
    listed = list(slices)
    latest = max((listed_slice.spec.pool.generation for listed_slice in listed), default=0)
    return [listed_slice for listed_slice in listed if listed_slice.spec.pool.generation == latest]


def is_selected(rule: DeviceTaintRule, *, driver: str, pool: str, device: str) -> bool:
    """Report whether a rule selects the device: all fields of its selector must match; without a selector it matches none."""
    selector = rule.spec.deviceSelector
    if selector is None:
        return False
    named = ((selector.driver, driver), (selector.pool, pool), (selector.device, device))
    return all(expected is None or expected == actual for expected, actual in named)


def selects(rule: DeviceTaintRule, result: DeviceRequestAllocationResult) -> bool:
    """Report whether a rule selects an allocated device."""
    return is_selected(rule, driver=result.driver, pool=result.pool, device=result.device)


def is_evicting(rule: DeviceTaintRule) -> bool:
    """Report whether the rule evicts pods."""
    return bool(rule.spec.taint.effect == NO_EXECUTE)


def evicted_at(taint: AnyTaint, tolerations: Sequence[Any]) -> datetime | None:
    """Return the time at which an untolerated taint takes effect; None for never. The shortest matching toleration applies,
    unless one is unlimited. A taint without ``timeAdded`` has no
    effect; the server sets it.
    """
    if taint.timeAdded is None:
        return None
    seconds = [toleration.tolerationSeconds for toleration in tolerations if tolerates(toleration, taint)]
    shortest = min(
        (_SECONDS_MAX if toleration_seconds is None else max(0, toleration_seconds) for toleration_seconds in seconds),
        default=0,
    )
    if None in seconds or shortest >= _SECONDS_MAX:
        return None
    return add_seconds(taint.timeAdded, shortest)


def eviction(claims: Iterable[ResourceClaim], slices_of: SlicesOf, rules: Sequence[DeviceTaintRule]) -> Eviction | None:
    """Return the eviction of a pod that uses the claims; None if it is not evicted. ``rules`` without NoExecute are ignored."""
    moments: list[datetime] = []
    blamed: set[str] = set()
    for claim in claims:
        for result in results_of(claim):
            for taint, rule in _taints(result, slices_of, rules):
                when = evicted_at(taint, result.tolerations or ())
                if when is not None:
                    moments.append(when)
                    blamed |= {rule} - {""}
    return Eviction(min(moments), frozenset(blamed)) if moments else None


def _taints(
    result: DeviceRequestAllocationResult, slices_of: SlicesOf, rules: Iterable[DeviceTaintRule]
) -> Iterator[tuple[AnyTaint, str]]:
    """Yield the taints of an allocated device with the name of their rule; empty for the driver's own."""
    for pool_slice in newest(slices_of(pool_key(result.driver, result.pool))):
        for device in pool_slice.spec.devices or ():
            if device.name == result.device:
                yield from ((taint, "") for taint in _evicting(device.taints))
    for rule in rules:
        if is_evicting(rule) and selects(rule, result):
            yield rule.spec.taint, name_of(rule)
