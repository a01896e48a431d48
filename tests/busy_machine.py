"""Bound of waits, and reports of logs, that depend on how busy the machine is."""

import asyncio
from collections.abc import Callable
from typing import Final

from steersman.asynckit.clock import FakeClock

#: Ends a wait for an event that never comes. No result depends on it: on a busy machine a start may take a minute.
HANG_SECONDS: Final = 120
#: The same for programs that start many processes, or play many histories.
LONG_HANG_SECONDS: Final = 10 * HANG_SECONDS

_SPEED_REPORTS: Final = (
    "a request held the event loop",
    "not ready after 5 s, waiting for",
    # Bounds of an orderly end.
    "did not end within",
    "requests were cut off",
    "some events could not be written",
    "could not renew or acquire the lease",
    "the lease could not be released",
)


def without_speed_reports(log: str) -> str:
    """Return the lines of a log that do not depend on what else the machine does."""
    lines = log.splitlines(keepends=True)
    return "".join(line for line in lines if not any(text in line for text in _SPEED_REPORTS))


async def advance_until(is_over: Callable[[], bool], clock: FakeClock) -> None:
    """Let time pass, second by second, until timers of the code under test have ended something."""
    async with asyncio.timeout(HANG_SECONDS):
        while not is_over():
            await clock.advance(1)
