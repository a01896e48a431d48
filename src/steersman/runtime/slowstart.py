"""Many equal writes, begun carefully: when the first fail (a quota, a bad template), the rest is not tried."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: Size of the first batch, as ``pkg/controller``'s ``SlowStartInitialBatchSize``.
INITIAL_BATCH_SIZE: Final = 1


class Batches(NamedTuple):
    """What became of the writes."""

    #: How many worked.
    successes: int
    #: Those of the batch after which nothing more was tried.
    errors: tuple[Exception, ...]
    #: How many were not tried. Expectations are lowered by these; failed ones are the caller's to note in ``work``.
    skipped: int


async def slow_start_batch(
    count: int, work: Callable[[int], Awaitable[object]], *, initial_batch_size: int = INITIAL_BATCH_SIZE
) -> Batches:
    """Call ``work(0)`` … ``work(count - 1)`` in batches, each twice as large as the last, all of a batch at once.

    After a batch in which anything failed no other is begun. A cancellation ends the running batch.
    """
    successes, begun, size = 0, 0, min(count, initial_batch_size)
    while size > 0:
        outcomes = await asyncio.gather(*(work(begun + n) for n in range(size)), return_exceptions=True)
        begun += size
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
                raise outcome
        errors = tuple(outcome for outcome in outcomes if isinstance(outcome, Exception))
        successes += size - len(errors)
        if errors:
            return Batches(successes, errors, count - begun)
        size = min(2 * size, count - begun)
    return Batches(successes, (), 0)
