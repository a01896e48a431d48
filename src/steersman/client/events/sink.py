"""Event sink: a bounded queue and one writer, so that recording never blocks."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import is_namespace_terminating
from steersman.client import PatchType, tree
from steersman.client.errors import AlreadyExists, ApiError, ClientError, NotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.client import Client


_log = logging.getLogger(__name__)

#: Bound of the queue; further events are dropped, as by client-go's broadcaster.
QUEUE_MAX: Final = 1000
#: Attempts of a write without response, and the delay between them. Upstream: ``maxTriesPerEvent``.
TRIES_MAX: Final = 12
RETRY_SECONDS: Final = 10.0


class EventSink:
    """Queue of write operations, executed in order while ``run`` runs."""

    def __init__(self, client: Client, *, clock: Clock, dice: Random) -> None:
        """``dice`` randomizes the first retry delay, so that many components do not retry simultaneously."""
        self._client = client
        self._clock = clock
        self._dice = dice
        self._queue: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue(QUEUE_MAX)
        #: Number of events dropped because the queue was full.
        self.dropped = 0

    def submit(self, work: Callable[[], Awaitable[None]]) -> None:
        """Queue ``work``; drop it if the queue is full."""
        try:
            self._queue.put_nowait(work)
        except asyncio.QueueFull:
            self.dropped += 1
            _log.warning("too many events wait, one is dropped (%d so far)", self.dropped)

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            work = await self._queue.get()
            try:
                await work()
            except Exception:  # noqa: BLE001 — the next event must be written
                _log.exception("an event could not be worked on")
            finally:
                self._queue.task_done()

    async def flush(self) -> None:
        """Wait until all queued events are written or dropped; ``run`` must be running."""
        await self._queue.join()

    async def write(self, api_version: str, event: Tree, patch: Tree | None) -> Tree | None:
        """Create ``event``, or patch the event of its name; return it as stored, None if it was dropped.

        A patched event that has expired is recreated. Error responses are final; missing responses are retried.
        """
        for attempt in range(TRIES_MAX):
            try:
                return await self._write_once(api_version, event, patch)
            except ApiError as error:
                is_expected = isinstance(error, AlreadyExists) or is_namespace_terminating(error)
                level = logging.DEBUG if is_expected else logging.ERROR
                _log.log(level, "server rejected event %s: %s (will not retry)", event["metadata"]["name"], error)
                return None
            except ClientError as error:
                _log.warning("unable to write event %s (may retry): %s", event["metadata"]["name"], error)
            if attempt < TRIES_MAX - 1:
                await self._clock.sleep(RETRY_SECONDS * (self._dice.random() if attempt == 0 else 1))
        _log.error("unable to write event %s (retry limit exceeded)", event["metadata"]["name"])
        return None

    async def _write_once(self, api_version: str, event: Tree, patch: Tree | None) -> Tree:
        events = tree(api_version, "Event")
        metadata = event["metadata"]
        if patch is not None:
            try:
                return await self._client.patch(
                    events, metadata["name"], patch, patch_type=PatchType.MERGE, namespace=metadata["namespace"]
                )
            except NotFound:
                pass  # expired
        new_metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
        return await self._client.create({**event, "metadata": new_metadata})
