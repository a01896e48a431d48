"""Work that is done again and again (``wait.JitterUntil``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.asynckit.backoff import jittered

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable
    from random import Random

    from steersman.asynckit.clock import Clock


async def run_every(
    seconds: float,
    work: Callable[[], Awaitable[object]],
    *,
    clock: Clock,
    dice: Random,
    log: logging.Logger,
    jitter: float = 0.0,
    sliding: bool = True,
) -> None:
    """Call ``work`` at once, then again and again until cancelled.

    ``sliding``: the wait begins when the work has ended, otherwise when it began. Each wait is up to ``jitter`` of it
    longer. An error is logged, and no reason to stop.
    """
    while True:
        started = clock.monotonic()
        try:
            await work()
        except Exception:
            log.exception("%s failed, it will be called again", getattr(work, "__name__", "periodic work"))
        wait = jittered(seconds, jitter, dice)
        await clock.sleep(wait if sliding else max(0.0, started + wait - clock.monotonic()))
