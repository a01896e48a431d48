"""Slow start of many equal writes: batches double while all succeed; after a failure the rest is skipped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: Size of the first batch, as ``pkg/controller``'s ``SlowStartInitialBatchSize``.
INITIAL_BATCH_SIZE: Final = 1


class Batches(NamedTuple):
    """Numbers of successful and skipped writes, and the failures."""

    #: Successful writes.
    successes: int
    #: Failures of the last batch.
    errors: tuple[Exception, ...]
    #: Writes not attempted. The caller lowers expectations by these; ``work`` observes failed ones itself.
    skipped: int


async def slow_start_batch(
    count: int, work: Callable[[int], Awaitable[object]], *, initial_batch_size: int = INITIAL_BATCH_SIZE
) -> Batches:
    """Call ``work(0)`` … ``work(count - 1)`` in batches, each twice as large as the last, a batch concurrently. No batch
    follows one with a failure. A cancellation ends the running batch.
    """
    successes, started, size = 0, 0, min(count, initial_batch_size)
    while size > 0:
        outcomes = await asyncio.gather(*(work(started + n) for n in range(size)), return_exceptions=True)
        started += size
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
                raise outcome
        errors = tuple(outcome for outcome in outcomes if isinstance(outcome, Exception))
        successes += size - len(errors)
        if errors:
            return Batches(successes, errors, count - started)
        size = min(2 * size, count - started)
    return Batches(successes, (), 0)
