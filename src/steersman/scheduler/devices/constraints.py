"""Constraints over the devices of one claim (``matchAttribute``, ``distinctAttribute``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from steersman.scheduler.devices.pools import Device


class Constraint:
    """An entry of ``spec.devices.constraints`` with the attribute values of the devices chosen so far."""

    def __init__(self, spec: Any) -> None:
        self._requests: Final = frozenset(spec.requests or ())
        self._is_distinct: Final = bool(spec.distinctAttribute)
        self._attribute: Final[str] = spec.distinctAttribute or spec.matchAttribute or ""
        self._values: Final[list[Any]] = []

    def applies_to(self, request: str) -> bool:
        """Report whether the constraint applies to a request or a subrequest (``request/subrequest``)."""
        return not self._requests or request in self._requests or request.partition("/")[0] in self._requests

    def add(self, device: Device) -> bool:
        """Add a device if it satisfies the constraint; report whether it does."""
        value = device.attribute(self._attribute)
        if value is None:
            return False
        if self._is_distinct:
            if value in self._values:
                return False
        elif self._values and self._values[0] != value:
            return False
        self._values.append(value)
        return True

    def remove(self) -> None:
        """Remove the device added last."""
        self._values.pop()
