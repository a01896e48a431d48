"""Supervised tasks: each has a name and an owner, its failure is logged, and it ends with its supervisor."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Supervisor:
    """Owner of tasks: logs the exception of a failed task, cancels all tasks on ``close``.

    A failed task does not affect the others; pass ``on_failure`` to react to it.
    """

    def __init__(self, owner: str, *, on_failure: Callable[[str, BaseException], None] | None = None) -> None:
        self.owner = owner
        self._on_failure = on_failure
        #: Running tasks in start order; done tasks are removed.
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._closing = False
        self._cancelled = False

    @property
    def names(self) -> list[str]:
        """Names of the running tasks, oldest first."""
        return [task.get_name() for task in self._tasks]

    def start(self, name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run ``work`` as a named task. Raises ``RuntimeError`` after ``close``."""
        if self._closing:
            work.close()
            raise RuntimeError(f"{self.owner} is closed, cannot start {name}")
        task = asyncio.get_running_loop().create_task(work, name=f"{self.owner}: {name}")
        self._tasks[task] = None
        task.add_done_callback(self._done)
        return task

    def cancel(self) -> None:
        """Cancel all tasks at once, for owners whose tasks do not depend on each other; ``close`` awaits them. Idempotent."""
        self._closing = True
        if self._cancelled:
            return
        self._cancelled = True
        for task in self._others():
            task.cancel()

    async def close(self) -> None:
        """Cancel all tasks, youngest first as they may depend on older ones, and await each. Idempotent.

        After ``cancel`` it only awaits them: another cancellation would interrupt their cleanup.
        """
        self._closing = True
        for task in self._others():
            if not self._cancelled:
                task.cancel()
            if not task.done():
                await asyncio.wait([task])

    def _others(self) -> list[asyncio.Task[Any]]:
        """Return the tasks except the current one, youngest first."""
        current = asyncio.current_task()
        return [task for task in reversed(self._tasks) if task is not current]

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        _log.error("task %s failed", task.get_name(), exc_info=error)
        if self._on_failure is not None:
            self._on_failure(task.get_name(), error)
