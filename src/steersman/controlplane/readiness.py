"""Readiness of the components process, reported to ``steersman up``."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from steersman.asynckit.stopping import run_unless_stopped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    #: Description of a pending step for users; and its wait, whose result is sent with ``ready``.
    Step = tuple[str, Callable[[], Awaitable[str | None]]]


class ReadinessReporter:
    """Reporter of the lines of ``child_process`` to the parent; a ``Runnable`` of a manager."""

    name = "readiness-reporter"

    def __init__(self, fd: int, steps: Sequence[Step], *, after: Callable[[], None] | None = None) -> None:
        """``after`` is called in a thread once all steps are done."""
        self._fd = fd
        self._steps = steps
        self._after = after
        self._stop = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        return True

    def stop(self) -> None:
        self._stop.set()

    async def run(self) -> None:
        """Report until ``stop``."""
        await run_unless_stopped(self._report(), self._stop)
        await self._stop.wait()

    async def _report(self) -> None:
        text = ""
        for description, wait in self._steps:
            self._write(f"waiting {description}")
            text = await wait() or text
        self._write(f"ready {text}")
        if self._after is not None:
            await asyncio.to_thread(self._after)

    def _write(self, line: str) -> None:
        with suppress(OSError):  # the parent has ended, which ``StopReasons.follow_pipe`` notices
            os.write(self._fd, f"{line}\n".encode())
