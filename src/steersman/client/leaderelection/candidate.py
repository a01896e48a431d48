"""``LeaseCandidate`` of a component that takes part in coordinated leader election (KEP-4355).

A controller in the API server (``controlplane.elections``) elects one of a lease's candidates as its holder. Upstream:
``leaderelection/leasecandidate.go``.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import format_micro_time, parse_time
from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.cancellation import cancel_and_wait, wait_through
from steersman.asynckit.timeouts import Timeout, woken
from steersman.client.decoding import DELETED
from steersman.client.errors import AlreadyExists, ClientError, Conflict, NotFound
from steersman.client.objects import compare_versions, resource_version_of
from steersman.client.resource_types import tree

if TYPE_CHECKING:
    from datetime import datetime
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client
    from steersman.client.decoding import WatchEvent


_log = logging.getLogger(__name__)

CANDIDATES: Final = tree("coordination.k8s.io/v1beta1", "LeaseCandidate")
OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"

#: Renewal interval without pings. Upstream: ``leasecandidate.go`` ``requeueInterval``.
RENEW_SECONDS: Final = 5 * 60.0
_RETRY: Final = BackoffPolicy(0.1, 10.0, jitter=0.5)
#: Bound for the deletion at the end.
_DELETE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Candidacy:
    """Spec of a candidate; versions as ``1.36.0``, without a ``v``."""

    namespace: str
    #: Name of the candidate and identity of its elector.
    name: str
    lease_name: str
    binary_version: str
    emulation_version: str
    strategy: str = OLDEST_EMULATION_VERSION

    def spec(self, *, renewed_at: datetime) -> Tree:
        """Return the spec of the object; omitting ``pingTime`` acknowledges a ping."""
        return {
            "leaseName": self.lease_name,
            "binaryVersion": self.binary_version,
            "emulationVersion": self.emulation_version,
            "strategy": self.strategy,
            "renewTime": format_micro_time(renewed_at),
        }


def needs_write(existing: Tree | None, candidacy: Candidacy, *, now: datetime) -> bool:
    """Report whether the object must be created, corrected or renewed, or a ping be acknowledged."""
    if existing is None:
        return True
    spec = existing.get("spec") or {}
    renewed, pinged = spec.get("renewTime"), spec.get("pingTime")
    if renewed is None:
        return True
    if pinged is not None and parse_time(pinged) > parse_time(renewed):
        return True
    desired = candidacy.spec(renewed_at=now)
    if any(spec.get(name) != desired[name] for name in desired if name != "renewTime"):
        return True
    return (now - parse_time(renewed)).total_seconds() >= RENEW_SECONDS


class LeaseCandidate:
    """Maintains the object while ``run`` runs.

    Creates, renews and corrects it, acknowledges pings, deletes it at the end.
    """

    def __init__(self, client: Client, candidacy: Candidacy, *, dice: Random) -> None:
        self._client = client
        self._clock = client.clock
        self._candidacy = candidacy
        self._dice = dice
        self._backoff = Backoff(_RETRY, dice=dice)
        #: Object as last observed or written; None: unknown or deleted.
        self._observed: Tree | None = None
        self._changed = asyncio.Event()

    @property
    def name(self) -> str:
        return self._candidacy.name

    async def run(self) -> None:
        """Maintain the object until cancelled; then delete it, if the server is reachable."""
        watch = asyncio.create_task(self._watch(), name=f"candidate {self.name}: watch")
        try:
            await self._maintain()
        finally:
            await cancel_and_wait(watch)
            await wait_through(asyncio.create_task(self._delete(), name=f"candidate {self.name}: delete"))

    async def _maintain(self) -> None:
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
        """Write the object if necessary. After a conflict it is read again, as the observed state may be stale."""
        if self._observed is not None and not needs_write(self._observed, self._candidacy, now=self._clock.now()):
            return
        try:
            if self._observed is None:
                self._observed = await self._read()
            if self._observed is None:
                self._observed = await self._client.create(self._desired(None))
            elif needs_write(self._observed, self._candidacy, now=self._clock.now()):
                self._observed = await self._client.update(self._desired(self._observed))
        except (Conflict, NotFound, AlreadyExists):
            self._observed = None
            self._changed.set()

    def _desired(self, existing: Tree | None) -> Tree:
        candidacy = self._candidacy
        metadata: Tree = {"name": candidacy.name, "namespace": candidacy.namespace}
        if existing is not None:
            metadata = existing["metadata"]
        return {
            "apiVersion": CANDIDATES.info.api_version,
            "kind": CANDIDATES.info.kind,
            "metadata": metadata,
            "spec": candidacy.spec(renewed_at=self._clock.now()),
        }

    async def _read(self) -> Tree | None:
        try:
            return await self._client.get(CANDIDATES, self.name, namespace=self._candidacy.namespace)
        except NotFound:
            return None

    async def _watch(self) -> None:
        """Watch the object for pings and for changes by other clients."""
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
                        self._observe(event)
            except ClientError as error:
                _log.info("the watch of candidate %s broke: %s", self.name, error)
            await self._clock.sleep(backoff.next_seconds())

    def _observe(self, event: WatchEvent[Tree]) -> None:
        """Record a watch event unless it is older than the last write."""
        observed_version = resource_version_of(self._observed) if self._observed is not None else ""
        order = compare_versions(resource_version_of(event.object), observed_version)
        if order is not None and order <= 0:
            return
        self._observed = None if event.type == DELETED else event.object
        self._changed.set()

    async def _delete(self) -> None:
        try:
            async with Timeout(_DELETE_SECONDS, clock=self._clock):
                await self._client.delete(CANDIDATES, self.name, namespace=self._candidacy.namespace)
        except NotFound:
            pass
        except (ClientError, TimeoutError) as error:
            _log.warning("candidate %s could not be deleted: %s", self.name, error)
