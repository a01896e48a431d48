"""Waiting for the end of a task despite cancellation of the waiting task."""

from __future__ import annotations

import asyncio
from typing import Any


async def cancel_and_wait(task: asyncio.Task[Any]) -> bool:
    """Cancel ``task`` and wait until it has ended, even if the caller is cancelled meanwhile.

    Returns True if the caller was cancelled (each time ``task`` was cancelled again): it must finish its cleanup and
    then raise ``CancelledError``.
    """
    task.cancel()
    return await _outlast(task, cancel_again=True)


async def wait_through(task: asyncio.Task[Any]) -> bool:
    """Wait until ``task``, which must be bounded, has ended. Return True if the caller was cancelled meanwhile."""
    return await _outlast(task, cancel_again=False)


async def _outlast(task: asyncio.Task[Any], *, cancel_again: bool) -> bool:
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
            if cancel_again:
                task.cancel()
    return cancelled


def is_ending() -> bool:
    """Report whether the running task was cancelled; a ``CancelledError`` may also come from the awaited object."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
