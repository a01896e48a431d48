"""Accounting of CPU-bound work: work on the event loop has an allowance, work in a worker thread can be interrupted.

Rules call ``spend`` at regular intervals. The caller installs a meter with ``metered``; without one ``spend`` does nothing.
One unit is one unit of CEL cost, which takes about 0.5 µs.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


#: Bytes of JSON decoded or copied per unit.
_BYTES_PER_UNIT: Final = 32
#: Shorter texts are not accounted for.
_ACCOUNTED_BYTES: Final = 128 * 1024


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

    __slots__ = ("_left",)

    def __init__(self, units: int) -> None:
        self._left = units

    def spend(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
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


def spend_bytes(size: int) -> None:
    """Account for ``size`` bytes of JSON that were decoded, or copied as trees, in one call; free for short ones."""
    if size >= _ACCOUNTED_BYTES:
        spend(size // _BYTES_PER_UNIT)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Install ``meter`` in the current context."""
    token = _meter.set(meter)
    try:
        yield
    finally:
        _meter.reset(token)
