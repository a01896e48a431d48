"""Supervised tasks: each has a name and an owner, none fails unseen, none outlives its supervisor."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Supervisor:
    """Owns tasks: logs the exception that ends one, cancels all of them on ``close``.

    A task that fails does not take the others along; an owner that wants that passes ``on_failure``.
    """

    def __init__(self, owner: str, *, on_failure: Callable[[str, BaseException], None] | None = None) -> None:
        self.owner = owner
        self._on_failure = on_failure
        #: Running tasks in the order of their start; a task leaves when it is done.
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._closing = False

    @property
    def names(self) -> list[str]:
        """Names of the running tasks, oldest first."""
        return [task.get_name() for task in self._tasks]

    def start(self, name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run ``work`` under ``name``. Raises ``RuntimeError`` after ``close``."""
        if self._closing:
            work.close()
            raise RuntimeError(f"{self.owner} is closed, cannot start {name}")
        task = asyncio.get_running_loop().create_task(work, name=f"{self.owner}: {name}")
        self._tasks[task] = None
        task.add_done_callback(self._done)
        return task

    async def close(self) -> None:
        """Cancel every task, youngest first (it may lean on older ones), and wait for each to end. Idempotent."""
        self._closing = True
        me = asyncio.current_task()
        for task in reversed([task for task in self._tasks if task is not me]):
            task.cancel()
            await asyncio.wait([task])

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
