"""Division of the server's seats among priority levels, and lending of unused seats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.trees import Tree


#: Bisection steps to the precision of a float.
_STEPS: Final = 80


class Limits(NamedTuple):
    """Seats of one level: nominal, lower and upper limit."""

    nominal: int
    lower: int
    upper: int


def limits_of(specs: Mapping[str, Tree], *, total: int) -> dict[str, Limits]:
    """Return the limits of levels by name from their specs; ``total`` is the server's concurrency limit."""
    parts = {name: spec.get("limited") or spec.get("exempt") or {} for name, spec in specs.items()}
    all_shares = sum(part.get("nominalConcurrencyShares") or 0 for part in parts.values())
    limits = {}
    for name, part in parts.items():
        shares = part.get("nominalConcurrencyShares") or 0
        nominal = math.ceil(total * shares / all_shares) if all_shares else 0
        lendable = round(nominal * (part.get("lendablePercent") or 0) / 100)
        borrowing = part.get("borrowingLimitPercent")
        more = total if borrowing is None else round(nominal * borrowing / 100)
        limits[name] = Limits(nominal, nominal - lendable, nominal + more)
    return limits


class SeatClaim(msgspec.Struct, frozen=True):
    """Target and bounds of one level's seats."""

    lower: float
    upper: float
    target: float


def allocate(claims: Sequence[SeatClaim], *, total: float) -> tuple[list[float], float]:
    """Return seats that sum to ``total``, as far as the bounds allow, and the fair proportion of targets.

    Every level gets that proportion within its bounds. Upstream: ``computeConcurrencyAllocation``.
    """

    def at(proportion: float) -> list[float]:
        return [min(claim.upper, max(claim.lower, proportion * claim.target)) for claim in claims]

    low, high = 0.0, 1.0
    while sum(at(high)) < total and high < 1e12:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if sum(at(middle)) < total:
            low = middle
        else:
            high = middle
    return at(high), high


class SeatDemand:
    """Seats in use or requested over time: mean, deviation and peak of a period."""

    __slots__ = ("_area", "_level", "_since", "_squares", "_start", "average", "deviation", "peak", "smoothed")

    #: Weight of the previous smoothed value (upstream: ``seatDemandSmoothingCoefficient``).
    _SMOOTHING: Final = 0.977

    def __init__(self, now: float) -> None:
        self._start = self._since = now
        self._level = 0
        self._area = 0.0
        self._squares = 0.0
        #: Peak of the current period; ``average`` and ``deviation`` are of the last one.
        self.peak = 0
        self.average = 0.0
        self.deviation = 0.0
        self.smoothed = 0.0

    def add(self, seats: int, now: float) -> None:
        """Change the demand by a number of seats, from ``now`` on."""
        level = self._level
        if now > self._since:
            weighted = level * (now - self._since)
            self._area += weighted
            self._squares += weighted * level
            self._since = now
        self._level = level = level + seats
        if level > self.peak:  # noqa: PLR1730 — twice in every request, and a call costs more
            self.peak = level

    def end_period(self, now: float) -> int:
        """Update ``average``, ``deviation`` and ``smoothed``, start a new period, and return the peak of the old one."""
        self.add(0, now)
        lasted = now - self._start
        if lasted > 0:
            self.average = self._area / lasted
            self.deviation = math.sqrt(max(0.0, self._squares / lasted - self.average**2))
        envelope = self.average + self.deviation
        self.smoothed = max(envelope, self._SMOOTHING * self.smoothed + (1 - self._SMOOTHING) * envelope)
        peak, self.peak = self.peak, self._level
        self._start = now
        self._area = self._squares = 0.0
        return peak
