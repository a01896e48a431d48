"""Result of a reconcile and the outcome that follows from it. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Result:
    """Request of ``reconcile`` to be called again; None is equivalent to an empty one.

    ``requeue_after_seconds``: reconcile again after that time. ``requeue``: reconcile again with the backoff of an
    error.
    """

    requeue_after_seconds: float | None = None
    requeue: bool = False


class TerminalError(Exception):
    """Error of a reconcile that must not be retried; it is logged and counted, and the key waits for a change."""


class Outcome(Enum):
    """Label ``result`` of ``controller_runtime_reconcile_total``; terminal errors count as errors too."""

    SUCCESS = "success"
    REQUEUE = "requeue"
    REQUEUE_AFTER = "requeue_after"
    ERROR = "error"
    #: Errors that are not retried.
    TERMINAL = "terminal_error"

    @property
    def is_error(self) -> bool:
        return self in (Outcome.ERROR, Outcome.TERMINAL)

    @property
    def is_terminal(self) -> bool:
        return self is Outcome.TERMINAL


def outcome_of(result: Result | None, error: Exception | None, *, failures: int, retries_max: int | None) -> Outcome:
    """Return the outcome of a reconcile. ``failures``: earlier consecutive failures; ``retries_max`` None: unlimited."""
    if error is not None:
        given_up = isinstance(error, TerminalError) or (retries_max is not None and failures >= retries_max)
        return Outcome.TERMINAL if given_up else Outcome.ERROR
    if result is None:
        return Outcome.SUCCESS
    if result.requeue_after_seconds is not None:
        return Outcome.REQUEUE_AFTER
    return Outcome.REQUEUE if result.requeue else Outcome.SUCCESS
