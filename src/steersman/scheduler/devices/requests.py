"""Requests of a ResourceClaim and their CEL selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.workloads.node_matching import NO_EXECUTE, NO_SCHEDULE, tolerates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from steersman.scheduler.devices.pools import Device

ALL: Final = "All"


class AllocationError(Exception):
    """A claim, its class or a pool is invalid; the message gives the reason."""


class DeviceRequest:
    """A request, or a subrequest of ``firstAvailable``."""

    def __init__(self, name: str, spec: Any, *, rank: int = 0) -> None:
        """``rank``: number of subrequests that are preferred to it."""
        self.name: Final = name
        self.class_name: Final[str] = spec.deviceClassName or ""
        self.rank: Final = rank
        self.takes_all: Final = spec.allocationMode == ALL
        self.count: Final[int] = spec.count or 1
        self.selectors: Final[Sequence[Any]] = spec.selectors or ()
        self.tolerations: Final[Sequence[Any]] = spec.tolerations or ()
        self.is_admin: Final = bool(getattr(spec, "adminAccess", None))
        self.capacity: Final[Mapping[str, Any]] = (spec.capacity.requests if spec.capacity is not None else None) or {}

    def tolerates_taints(self, device: Device) -> bool:
        """Report whether the request tolerates the device's taints."""
        return all(
            any(tolerates(toleration, taint) for toleration in self.tolerations)
            for taint in device.taints
            if taint.effect in (NO_SCHEDULE, NO_EXECUTE)
        )


def device_requests(claim: Any) -> list[list[DeviceRequest]]:
    """Return the subrequests of each request of a claim, in order of preference; most requests have one."""
    devices = claim.spec.devices
    return [list(_alternatives(request)) for request in (devices.requests if devices is not None else None) or ()]


def _alternatives(request: Any) -> Iterator[DeviceRequest]:
    if request.exactly is not None:
        yield DeviceRequest(request.name, request.exactly)
    for rank, spec in enumerate(request.firstAvailable or ()):
        yield DeviceRequest(f"{request.name}/{spec.name}", spec, rank=rank)


def matches_selectors(device: Device, selectors: Sequence[Any], of: Callable[[], str]) -> bool:
    """Report whether the device matches all selectors. ``of`` returns their origin for messages. Raises
    AllocationError.
    """
    for number, selector in enumerate(selectors):
        if selector.cel is None:
            raise AllocationError(f"{of()}: selector #{number}: CEL expression empty (unsupported selector type?)")
        expression = selector.cel.expression
        cached = device.selected.get(expression)
        if cached is None:
            cached = device.selected[expression] = _evaluate(device, expression, f"{of()}: selector #{number}")
        if not cached:
            return False
    return True


def _evaluate(device: Device, expression: str, place: str) -> bool:
    from steersman.cel.devices import (  # noqa: PLC0415 — loaded with the first expression
        COST_LIMIT,
        SelectorError,
        compile_selector,
    )

    try:
        program = compile_selector(expression)
    except SelectorError as error:
        raise AllocationError(f"{place}: CEL compile error: {error}") from None
    evaluated = program.evaluate({"device": device.value}, cost_limit=COST_LIMIT)
    if evaluated.error is not None:
        raise AllocationError(f"{place}: CEL runtime error: {evaluated.error}")
    if not isinstance(evaluated.value, bool):
        raise AllocationError(f"{place}: CEL runtime error: CEL result of type {type(evaluated.value).__name__}")
    return evaluated.value
