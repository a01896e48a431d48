"""A ``LeaseCandidate``: how a component tells coordinated election (KEP-4355) that it is there and what it is.

The other side, a controller in the API server, chooses one of the candidates of a lease and writes its name into it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import StatusError, is_already_exists, is_conflict, is_not_found
from steersman.apimachinery.timestamps import format_micro_time, parse_time
from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.endings import cancel_and_wait, wait_through
from steersman.asynckit.timeouts import Timeout, woken
from steersman.client.decoding import DELETED
from steersman.client.errors import ClientError
from steersman.client.objects import compare_versions, resource_version_of
from steersman.client.resource_types import tree

if TYPE_CHECKING:
    from datetime import datetime
    from random import Random

    from steersman.client import Client
    from steersman.client.decoding import WatchEvent

Tree = dict[str, Any]

_log = logging.getLogger(__name__)

CANDIDATES: Final = tree("coordination.k8s.io/v1beta1", "LeaseCandidate")
OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"

#: Renewed so often when nobody asks, as client-go does.
RENEW_SECONDS: Final = 5 * 60.0
_RETRY: Final = BackoffPolicy(0.1, 10.0, jitter=0.5)
#: Deleting it at the end takes no longer.
_DELETE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Candidacy:
    """What a candidate says of itself; versions as in ``1.36.0``, without a ``v``."""

    namespace: str
    #: Of the candidate; the identity that a coordinated elector of this process must have.
    name: str
    lease_name: str
    binary_version: str
    emulation_version: str
    strategy: str = OLDEST_EMULATION_VERSION

    def spec(self, *, renewed_at: datetime) -> Tree:
        """The spec of the object; answering a ping is leaving ``pingTime`` out."""
        return {
            "leaseName": self.lease_name,
            "binaryVersion": self.binary_version,
            "emulationVersion": self.emulation_version,
            "strategy": self.strategy,
            "renewTime": format_micro_time(renewed_at),
        }


def needs_write(found: Tree | None, candidacy: Candidacy, *, now: datetime) -> bool:
    """Whether the object must be created, corrected, renewed, or a ping be answered: a pure rule."""
    if found is None:
        return True
    spec = found.get("spec") or {}
    renewed, pinged = spec.get("renewTime"), spec.get("pingTime")
    if renewed is None:
        return True
    if pinged is not None and parse_time(pinged) > parse_time(renewed):
        return True
    wanted = candidacy.spec(renewed_at=now)
    if any(spec.get(name) != wanted[name] for name in wanted if name != "renewTime"):
        return True
    return (now - parse_time(renewed)).total_seconds() >= RENEW_SECONDS


class LeaseCandidate:
    """Keeps the object while ``run`` runs: creates, renews and corrects it, answers pings, deletes it at the end."""

    def __init__(self, client: Client, candidacy: Candidacy, *, dice: Random) -> None:
        self._client = client
        self._clock = client.clock
        self._candidacy = candidacy
        self._dice = dice
        self._backoff = Backoff(_RETRY, dice=dice)
        #: As last seen or written; None: not known to be there.
        self._found: Tree | None = None
        self._changed = asyncio.Event()

    @property
    def name(self) -> str:
        return self._candidacy.name

    async def run(self) -> None:
        """Until cancelled; the object is deleted before this returns, if the server can be reached."""
        watch = asyncio.create_task(self._follow(), name=f"candidate {self.name}: watch")
        try:
            await self._keep()
        finally:
            await cancel_and_wait(watch)
            await wait_through(asyncio.create_task(self._delete(), name=f"candidate {self.name}: delete"))

    async def _keep(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self._ensure()
            except ClientError as error:
                seconds = self._backoff.next_seconds()
                _log.warning("candidate %s could not be kept, again in %.1f s: %s", self.name, seconds, error)
                await self._clock.sleep(seconds)
                continue
            self._backoff.reset()
            await woken(self._changed, RENEW_SECONDS, clock=self._clock)

    async def _ensure(self) -> None:
        """Write if need be. What was seen last may be old: a conflict means to read and to look again."""
        if self._found is not None and not needs_write(self._found, self._candidacy, now=self._clock.now()):
            return
        try:
            if self._found is None:
                self._found = await self._read()
            if self._found is None:
                self._found = await self._client.create(self._wanted(None))
            elif needs_write(self._found, self._candidacy, now=self._clock.now()):
                self._found = await self._client.update(self._wanted(self._found))
        except StatusError as error:
            if not (is_conflict(error) or is_not_found(error) or is_already_exists(error)):
                raise
            self._found = None
            self._changed.set()

    def _wanted(self, found: Tree | None) -> Tree:
        candidacy = self._candidacy
        metadata: Tree = {"name": candidacy.name, "namespace": candidacy.namespace}
        if found is not None:
            metadata = found["metadata"]
        return {
            "apiVersion": CANDIDATES.info.api_version,
            "kind": CANDIDATES.info.kind,
            "metadata": metadata,
            "spec": candidacy.spec(renewed_at=self._clock.now()),
        }

    async def _read(self) -> Tree | None:
        try:
            return await self._client.get(CANDIDATES, self.name, namespace=self._candidacy.namespace)
        except StatusError as error:
            if is_not_found(error):
                return None
            raise

    async def _follow(self) -> None:
        """Hear of pings and of changes by others."""
        backoff = Backoff(_RETRY, dice=self._dice)
        while True:
            try:
                async with self._client.watch(
                    CANDIDATES,
                    namespace=self._candidacy.namespace,
                    field_selector=f"metadata.name={self.name}",
                    bookmarks=False,
                ) as events:
                    async for event in events:
                        backoff.reset()
                        self._hear(event)
            except ClientError as error:
                _log.info("the watch of candidate %s broke: %s", self.name, error)
            await self._clock.sleep(backoff.next_seconds())

    def _hear(self, event: WatchEvent[Tree]) -> None:
        """Of what is older than the last write nothing is to be learnt."""
        known = resource_version_of(self._found) if self._found is not None else ""
        order = compare_versions(resource_version_of(event.object), known)
        if order is not None and order <= 0:
            return
        self._found = None if event.type == DELETED else event.object
        self._changed.set()

    async def _delete(self) -> None:
        try:
            async with Timeout(_DELETE_SECONDS, clock=self._clock):
                await self._client.delete(CANDIDATES, self.name, namespace=self._candidacy.namespace)
        except (ClientError, TimeoutError) as error:
            if not is_not_found(error):
                _log.warning("candidate %s could not be deleted: %s", self.name, error)
