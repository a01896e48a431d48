"""A shared store as one server sees it: writes of other servers reach its sinks late."""

from __future__ import annotations

from typing import Any


class LaggingStore:
    """View of a ``MemoryStore``: events of others wait until ``catch_up``, which own writes and ``current_revision`` run."""

    is_shared = True

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.revision = inner.revision
        self._held: list[tuple[Any, Any]] = []
        #: Set to have ``current_revision`` wait for this event.
        self.gate: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def catch_up(self) -> None:
        self.revision = self._inner.revision
        held, self._held = self._held, []
        for sink, batch in held:
            sink(batch)

    def drop(self) -> None:
        """Lose the events that wait."""
        self._held = []

    async def current_revision(self) -> int:
        if self.gate is not None:
            await self.gate.wait()
        self.catch_up()
        return int(self.revision)

    async def txn(self, ops: Any) -> int:
        revision = await self._inner.txn(ops)
        self.catch_up()
        return int(revision)

    async def watch(self, prefix: str, sink: Any, *, after_revision: int, on_lost: Any) -> Any:
        self.revision = self._inner.revision
        return await self._inner.watch(
            prefix, lambda batch: self._held.append((sink, batch)), after_revision=after_revision, on_lost=on_lost
        )
