"""Measurement of slices: the work that a coroutine does between two awaits, while nothing else on its loop runs."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

T = TypeVar("T")


@types.coroutine
def measured(
    work: Awaitable[T], *, monotonic: Callable[[], float], limit_seconds: float, report: Callable[[float], None]
) -> Generator[Any, Any, T]:
    """Await ``work``, and call ``report`` with the seconds of each slice that takes longer than ``limit_seconds``.

    Results, exceptions and cancellation pass through unchanged.
    """
    steps = work.__await__()
    error: BaseException | None = None
    while True:
        began = monotonic()
        try:
            waiting = next(steps) if error is None else _throw(steps, error)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            seconds = monotonic() - began
            if seconds > limit_seconds:
                report(seconds)
        error = None
        try:
            yield waiting
        except BaseException as thrown:  # noqa: BLE001 — it belongs to the coroutine
            error = thrown


def _throw(steps: Generator[Any, Any, Any], error: BaseException) -> Any:
    throw = getattr(steps, "throw", None)
    if throw is None:
        raise error
    return throw(error)
