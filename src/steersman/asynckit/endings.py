"""Waiting for the end of a task without being turned away by one's own cancellation."""

from __future__ import annotations

import asyncio
from typing import Any


async def cancel_and_wait(task: asyncio.Task[Any]) -> bool:
    """Cancel ``task`` and return when it has ended, come what may.

    True: the caller was cancelled meanwhile (each time ``task`` was cancelled anew), and must raise ``CancelledError``
    when it has done what cannot be left undone.
    """
    task.cancel()
    return await _outlast(task, insist=True)


async def wait_through(task: asyncio.Task[Any]) -> bool:
    """Return when ``task``, which must be bounded, has ended; True: the caller was cancelled meanwhile."""
    return await _outlast(task, insist=False)


async def _outlast(task: asyncio.Task[Any], *, insist: bool) -> bool:
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
            if insist:
                task.cancel()
    return cancelled


def is_ending() -> bool:
    """Whether the running task was asked to end; a ``CancelledError`` may as well come from what it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
