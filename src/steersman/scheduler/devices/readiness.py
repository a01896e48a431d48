"""Device binding conditions: devices that must become ready before a pod is bound (KEP-5007)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.gotext import quote
from steersman.scheduler.devices.catalog import allocation_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


class BindingFailedError(Exception):
    """A driver reported a binding failure condition."""


def awaits_devices(claim: Any) -> bool:
    """Report whether an allocated device has binding conditions."""
    return any(result.bindingConditions for result in _results(claim))


def is_ready(claim: Any) -> bool:
    """Report whether all binding conditions are met; False without an allocation. Raises ``BindingFailedError``."""
    if allocation_of(claim) is None:
        return False
    for result in _results(claim):
        if not result.bindingConditions:
            continue
        conditions = _conditions(claim, result)
        if conditions is None:
            return False
        for name in result.bindingFailureConditions or ():
            condition = conditions.get(name)
            if condition is not None and condition.status == "True":
                raise BindingFailedError(
                    f"claim {claim.metadata.name} binding failed: reason={condition.reason}, message={quote(condition.message)}"
                )
        if any(name not in conditions or conditions[name].status != "True" for name in result.bindingConditions):
            return False
    return True


def is_overdue(claim: Any, *, now: datetime, timeout_seconds: float) -> bool:
    """Report whether binding conditions have been pending for longer than ``timeout_seconds``."""
    allocation = allocation_of(claim)
    since = allocation.allocationTimestamp if allocation is not None else None
    return since is not None and awaits_devices(claim) and (now - since).total_seconds() > timeout_seconds


def _results(claim: Any) -> Iterator[Any]:
    allocation = allocation_of(claim)
    if allocation is not None and allocation.devices is not None:
        yield from allocation.devices.results or ()


def _conditions(claim: Any, result: Any) -> dict[str, Any] | None:
    """Return the conditions of an allocated device by type; None if the driver has reported none."""
    for status in claim.status.devices or ():
        if (status.driver, status.pool, status.device, status.shareID) == (
            result.driver, result.pool, result.device, result.shareID,
        ):  # fmt: skip
            return {condition.type: condition for condition in status.conditions or ()}
    return None
