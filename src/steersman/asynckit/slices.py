"""Measurement of slices: the work that a coroutine does between two awaits, while nothing else on its loop runs."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

T = TypeVar("T")
S = TypeVar("S")


@types.coroutine
def measured(
    work: Coroutine[Any, Any, T],
    monotonic: Callable[[], float],
    limit_seconds: float,
    report: Callable[[S, float], None],
    subject: S,
) -> Generator[Any, Any, T]:
    """Await ``work``; call ``report`` with ``subject`` and the seconds of each slice that takes longer than ``limit_seconds``.

    Results, exceptions and cancellation pass through unchanged. Costs less than a microsecond where ``work`` does not wait.
    """
    error: BaseException | None = None
    while True:
        began = monotonic()
        try:
            waiting = work.send(None) if error is None else work.throw(error)
        except StopIteration as end:
            if (seconds := monotonic() - began) > limit_seconds:
                report(subject, seconds)
            result: T = end.value
            return result
        except BaseException:
            if (seconds := monotonic() - began) > limit_seconds:
                report(subject, seconds)
            raise
        if (seconds := monotonic() - began) > limit_seconds:
            report(subject, seconds)
        error = None
        try:
            yield waiting
        except BaseException as thrown:  # noqa: BLE001 — it belongs to the coroutine
            error = thrown
