"""Periodic calls. Upstream: ``wait.JitterUntil``."""

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
    """Call ``work`` immediately, then periodically until cancelled.

    ``sliding``: the period begins at the end of the call, otherwise at its start. Each period is extended by up to
    ``jitter`` of it. An exception is logged and does not end the loop.
    """
    while True:
        started = clock.monotonic()
        try:
            await work()
        except Exception:
            log.exception("%s failed, it will be called again", getattr(work, "__name__", "periodic work"))
        wait = jittered(seconds, jitter, dice)
        await clock.sleep(wait if sliding else max(0.0, started + wait - clock.monotonic()))
