"""Slices: the synchronous work of a coroutine between two awaits, which blocks its event loop."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

T = TypeVar("T")
S = TypeVar("S")


@types.coroutine
def next_turn() -> Generator[None, None, None]:
    """End the slice: wait until everything else on the loop that is due has run."""
    yield


@types.coroutine
def measured(
    work: Coroutine[Any, Any, T],
    monotonic: Callable[[], float],
    limit_seconds: float,
    report: Callable[[S, float], None],
    subject: S,
) -> Generator[Any, Any, T]:
    """Await ``work``; call ``report`` with ``subject`` and the duration of each slice longer than ``limit_seconds``.

    Results, exceptions and cancellation pass through unchanged.
    """
    error: BaseException | None = None
    waiting: Any = None
    try:
        while True:
            started = monotonic()
            try:
                waiting = work.send(None) if error is None else work.throw(error)
            except StopIteration as end:
                if (seconds := monotonic() - started) > limit_seconds:
                    report(subject, seconds)
                result: T = end.value
                return result
            except BaseException:
                if (seconds := monotonic() - started) > limit_seconds:
                    report(subject, seconds)
                raise
            if (seconds := monotonic() - started) > limit_seconds:
                report(subject, seconds)
            error = None
            try:
                yield waiting
            except BaseException as thrown:  # noqa: BLE001 — thrown into the coroutine
                error = thrown
    finally:
        error = waiting = None  # both may hold an exception, whose traceback holds this frame
