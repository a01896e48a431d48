"""How long to wait before the next try: growth, a cap and jitter, as pure rules. Dice come in as a parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random


def jittered(seconds: float, fraction: float, dice: Random) -> float:
    """``seconds``, made longer by up to ``fraction`` of it (``wait.Jitter``), so that many waiters spread out."""
    return seconds * (1 + dice.random() * fraction)


def exponential(base_seconds: float, failures: int, max_seconds: float, *, factor: float = 2.0) -> float:
    """``base · factor**failures``, at most ``max_seconds``; ``failures`` may be any size."""
    try:
        return min(base_seconds * factor**failures, max_seconds)
    except OverflowError:
        return max_seconds


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """``initial_seconds`` first, each next wait ``factor`` times as long, up to ``max_seconds``.

    Jitter lengthens a wait by up to that fraction and may so go past the maximum, as ``wait.Backoff`` does.
    """

    initial_seconds: float
    max_seconds: float
    factor: float = 2.0
    jitter: float = 0.0


class Backoff:
    """The waits of one thing that is tried again and again until it works."""

    def __init__(self, policy: BackoffPolicy, *, dice: Random | None = None) -> None:
        """``dice`` is needed where the policy has jitter."""
        if policy.jitter and dice is None:
            raise ValueError("a backoff with jitter needs dice")
        self._policy = policy
        self._dice = dice
        self._failures = 0

    @property
    def failures(self) -> int:
        """Waits handed out since the start or the last reset."""
        return self._failures

    def next_seconds(self) -> float:
        """The wait after one more failure."""
        policy = self._policy
        seconds = exponential(policy.initial_seconds, self._failures, policy.max_seconds, factor=policy.factor)
        self._failures += 1
        return seconds if self._dice is None else jittered(seconds, policy.jitter, self._dice)

    def reset(self) -> None:
        """It worked: the next wait is the first one again."""
        self._failures = 0
