"""What a claim asks for: so many devices of a class, or the first that can be had of several alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.cel.devices import COST_LIMIT, SelectorError, compile_selector
from steersman.runtime.node_matching import NO_EXECUTE, NO_SCHEDULE, tolerates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from steersman.scheduler.devices.pools import Device

ALL: Final = "All"


class AllocationError(Exception):
    """Something is wrong with a claim, its class or the pools; the text says what."""


class Want:
    """A request, or one alternative of it."""

    def __init__(self, name: str, said: Any, *, rank: int = 0) -> None:
        """``rank``: how many alternatives are preferred to it."""
        self.name: Final = name
        self.class_name: Final[str] = said.deviceClassName or ""
        self.rank: Final = rank
        self.takes_all: Final = said.allocationMode == ALL
        self.count: Final[int] = said.count or 1
        self.selectors: Final[Sequence[Any]] = said.selectors or ()
        self.tolerations: Final[Sequence[Any]] = said.tolerations or ()
        self.is_admin: Final = bool(getattr(said, "adminAccess", None))
        self.capacity: Final[Mapping[str, Any]] = (said.capacity.requests if said.capacity is not None else None) or {}

    def bears(self, device: Device) -> bool:
        """Whether it tolerates the device's taints."""
        return all(
            any(tolerates(each, taint) for each in self.tolerations)
            for taint in device.taints
            if taint.effect in (NO_SCHEDULE, NO_EXECUTE)
        )


def wants(claim: Any) -> list[list[Want]]:
    """For each request of a claim its alternatives, the preferred first; most requests have one."""
    devices = claim.spec.devices
    return [list(_alternatives(request)) for request in (devices.requests if devices is not None else None) or ()]


def _alternatives(request: Any) -> Iterator[Want]:
    if request.exactly is not None:
        yield Want(request.name, request.exactly)
    for rank, said in enumerate(request.firstAvailable or ()):
        yield Want(f"{request.name}/{said.name}", said, rank=rank)


def is_selected(device: Device, selectors: Sequence[Any], of: Callable[[], str]) -> bool:
    """Whether all selectors mean a device. ``of`` tells whose they are. Raises AllocationError."""
    for number, selector in enumerate(selectors):
        if selector.cel is None:
            raise AllocationError(f"{of()}: selector #{number}: CEL expression empty (unsupported selector type?)")
        expression = selector.cel.expression
        known = device.selected.get(expression)
        if known is None:
            known = device.selected[expression] = _evaluate(device, expression, f"{of()}: selector #{number}")
        if not known:
            return False
    return True


def _evaluate(device: Device, expression: str, place: str) -> bool:
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
