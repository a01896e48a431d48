"""Accounting of CPU-bound work: work on the event loop has an allowance, work in a worker thread can be interrupted.

Rules call ``spend`` at regular intervals. The caller installs a meter with ``metered``; without one ``spend`` does nothing.
One unit is one unit of CEL cost, which takes about 0.5 µs.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

T = TypeVar("T")

#: Bytes of JSON decoded or copied per unit.
_BYTES_PER_UNIT: Final = 32
#: Shorter texts are not accounted for.
_ACCOUNTED_BYTES: Final = 128 * 1024
#: Smaller collections are not accounted for, and this many items of a larger one at once.
_ITEMS_MIN: Final = 32
_ITEMS_AT_ONCE: Final = 256


class WorkLimitError(Exception):
    """The allowance is spent: the work must be restarted in a worker thread. Never sent to a client."""


class InterruptedWorkError(Exception):
    """The request has ended, by its deadline or because the client disconnected."""


class Meter(Protocol):
    """Interface that receives the cost of work."""

    def spend(self, units: int) -> None:
        """Account for ``units``. Raises WorkLimitError or InterruptedWorkError."""


class Allowance:
    """Meter of work on the event loop."""

    __slots__ = ("_remaining_units",)

    def __init__(self, units: int) -> None:
        self._remaining_units = units

    def spend(self, units: int) -> None:
        self._remaining_units -= units
        if self._remaining_units < 0:
            raise WorkLimitError


class Interruption:
    """Meter of work in a worker thread; ``set`` may be called from any thread."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Make the next ``spend`` raise InterruptedWorkError."""
        self.is_set = True

    def spend(self, units: int) -> None:
        del units
        if self.is_set:
            raise InterruptedWorkError


_meter: Final[ContextVar[Meter | None]] = ContextVar("meter", default=None)


def spend(units: int) -> None:
    """Account for work in the current context. Raises what the installed meter raises."""
    meter = _meter.get()
    if meter is not None:
        meter.spend(units)


def spend_bytes(size: int, *, is_part: bool = False) -> None:
    """Account for ``size`` bytes of JSON that were decoded, or copied as trees, in one call.

    Short ones are free, unless they are parts of a longer text.
    """
    if is_part or size >= _ACCOUNTED_BYTES:
        spend(size // _BYTES_PER_UNIT)


def charged(items: Collection[T], units: int) -> Iterable[T]:
    """Return ``items``; their consumer accounts for ``units`` each, free for few items."""
    return items if len(items) < _ITEMS_MIN else _charge(items, units)


def _charge(items: Iterable[T], units: int) -> Iterator[T]:
    remaining_items = _ITEMS_AT_ONCE
    for item in items:
        yield item
        remaining_items -= 1
        if not remaining_items:
            spend(units * _ITEMS_AT_ONCE)
            remaining_items = _ITEMS_AT_ONCE
    spend(units * (_ITEMS_AT_ONCE - remaining_items))


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Install ``meter`` in the current context."""
    token = _meter.set(meter)
    try:
        yield
    finally:
        _meter.reset(token)
