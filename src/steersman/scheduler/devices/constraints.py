"""What devices of one claim must, or must not, have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from steersman.scheduler.devices.pools import Device


class Constraint:
    """One of ``spec.devices.constraints``, and the devices chosen so far that it is about."""

    def __init__(self, said: Any) -> None:
        self._requests: Final = frozenset(said.requests or ())
        self._is_distinct: Final = bool(said.distinctAttribute)
        self._attribute: Final[str] = said.distinctAttribute or said.matchAttribute or ""
        self._values: Final[list[Any]] = []

    def concerns(self, request: str) -> bool:
        """Whether it is about a request, or about one alternative of it (``request/alternative``)."""
        return not self._requests or request in self._requests or request.partition("/")[0] in self._requests

    def add(self, device: Device) -> bool:
        """Whether the device goes with those chosen before; then it is one of them."""
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
        """Give up the last device."""
        self._values.pop()
