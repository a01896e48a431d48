"""Running work until a stop is requested."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine


async def run_unless_stopped(work: Coroutine[Any, Any, None], stop: asyncio.Event) -> bool:
    """Await ``work``, cancelling it as soon as ``stop`` is set; report whether it completed.

    Raises what ``work`` raises. Cancellation of the caller cancels ``work`` and waits for it.
    """
    if stop.is_set():
        work.close()
        return False
    running = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not running.done():
            running.cancel()
        await asyncio.wait([running, stopping])
    if running.cancelled():
        return False
    running.result()
    return True
