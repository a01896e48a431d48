"""The way out for events: a bounded queue and one writer. An event is never worth holding up who records it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import StatusError, is_already_exists, is_namespace_terminating, is_not_found
from steersman.client import PatchType, tree
from steersman.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.client import Client

Tree = dict[str, Any]

_log = logging.getLogger(__name__)

#: Events that wait to be written; a newer one is dropped while so many wait, as by client-go's broadcaster.
QUEUE_MAX: Final = 1000
#: A write that gets no answer is tried so often, with a pause in between.
TRIES_MAX: Final = 12
RETRY_SECONDS: Final = 10.0


class EventSink:
    """Runs what recorders hand in, one after the other, while ``run`` runs."""

    def __init__(self, client: Client, *, clock: Clock, dice: Random) -> None:
        """``dice``: the first pause is cut at random, so that many components do not come back at once."""
        self._client = client
        self._clock = clock
        self._dice = dice
        self._queue: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue(QUEUE_MAX)
        #: Events that found the queue full.
        self.dropped = 0

    def submit(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run ``work`` in its turn; dropped when too much waits."""
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
            except Exception:  # noqa: BLE001 — the next event is not to suffer
                _log.exception("an event could not be worked on")
            finally:
                self._queue.task_done()

    async def flush(self) -> None:
        """Wait until what was handed in is written or given up; ``run`` must be running."""
        await self._queue.join()

    async def write(self, api_version: str, event: Tree, patch: Tree | None) -> Tree | None:
        """Create ``event``, or patch the one of its name; as the server stored it, None when it was given up.

        What was patched and is gone (events expire) is created anew. A refusal is final; no answer is tried again.
        """
        for attempt in range(TRIES_MAX):
            try:
                return await self._write_once(api_version, event, patch)
            except StatusError as error:
                ends = is_already_exists(error) or is_namespace_terminating(error)
                level = logging.DEBUG if ends else logging.ERROR
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
            except StatusError as error:
                if not is_not_found(error):
                    raise
        fresh = {key: value for key, value in metadata.items() if key != "resourceVersion"}
        return await self._client.create({**event, "metadata": fresh})
