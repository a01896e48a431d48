"""How a reconcile ends, and what follows from it: a pure rule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Result:
    """What ``reconcile`` returns when more is to come; None is the same as an empty one: done until something changes.

    ``requeue_after_seconds``: look again then, whatever happens. ``requeue``: look again after a growing wait, as
    after an error, but without one.
    """

    requeue_after_seconds: float | None = None
    requeue: bool = False


class TerminalError(Exception):
    """Raised by a reconcile that trying again cannot mend; logged and counted, and the key is left until it changes."""


class Outcome(Enum):
    """The ``result`` label of ``controller_runtime_reconcile_total``; terminal errors count as errors there too."""

    SUCCESS = "success"
    REQUEUE = "requeue"
    REQUEUE_AFTER = "requeue_after"
    ERROR = "error"
    #: Errors that are not tried again.
    TERMINAL = "terminal_error"

    @property
    def is_error(self) -> bool:
        return self in (Outcome.ERROR, Outcome.TERMINAL)

    @property
    def is_terminal(self) -> bool:
        return self is Outcome.TERMINAL


def outcome_of(result: Result | None, error: Exception | None, *, failures: int, retries_max: int | None) -> Outcome:
    """What to do with the key. ``failures``: how often it failed in a row before this; None: no bound on retries."""
    if error is not None:
        given_up = isinstance(error, TerminalError) or (retries_max is not None and failures >= retries_max)
        return Outcome.TERMINAL if given_up else Outcome.ERROR
    if result is None:
        return Outcome.SUCCESS
    if result.requeue_after_seconds is not None:
        return Outcome.REQUEUE_AFTER
    return Outcome.REQUEUE if result.requeue else Outcome.SUCCESS
