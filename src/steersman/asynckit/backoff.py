"""Exponential backoff with a cap and jitter, as pure functions; randomness is a parameter.

Upstream: ``k8s.io/apimachinery/pkg/util/wait.Backoff``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random


def jittered(seconds: float, fraction: float, dice: Random) -> float:
    """Return ``seconds`` lengthened by up to ``fraction`` of it, to spread retries. Upstream: ``wait.Jitter``."""
    return seconds * (1 + dice.random() * fraction)


def exponential(base_seconds: float, failures: int, max_seconds: float, *, factor: float = 2.0) -> float:
    """Return ``base · factor**failures``, at most ``max_seconds``, for any number of failures."""
    try:
        return min(base_seconds * factor**failures, max_seconds)
    except OverflowError:
        return max_seconds


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """First delay ``initial_seconds``, then ``factor`` times the previous delay, up to ``max_seconds``.

    Jitter lengthens a delay by up to that fraction, also beyond the maximum, as in ``wait.Backoff``.
    """

    initial_seconds: float
    max_seconds: float
    factor: float = 2.0
    jitter: float = 0.0


class Backoff:
    """Delays between the attempts of one operation."""

    def __init__(self, policy: BackoffPolicy, *, dice: Random | None = None) -> None:
        """``dice`` is required for a policy with jitter."""
        if policy.jitter and dice is None:
            raise ValueError("a backoff with jitter needs dice")
        self._policy = policy
        self._dice = dice
        self._failures = 0

    @property
    def failures(self) -> int:
        """Number of delays since the start or the last reset."""
        return self._failures

    def next_seconds(self) -> float:
        """Return the delay after one more failure."""
        policy = self._policy
        seconds = exponential(policy.initial_seconds, self._failures, policy.max_seconds, factor=policy.factor)
        self._failures += 1
        return seconds if self._dice is None else jittered(seconds, policy.jitter, self._dice)

    def reset(self) -> None:
        """Restart with the initial delay, after a success."""
        self._failures = 0
