"""Locks of an election: the ``Lock`` interface (compare-and-swap) and its implementation with a ``Lease``.

Upstream: ``leaderelection/resourcelock``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from steersman.client.decoding import DELETED
from steersman.client.errors import NotFound
from steersman.client.leaderelection.record import record_of, spec_of
from steersman.client.objects import resource_version_of, uid_of
from steersman.client.resource_types import tree

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client
    from steersman.client.events import EventRecorder
    from steersman.client.leaderelection.record import LeaderElectionRecord


LEASES: Final = tree("coordination.k8s.io/v1", "Lease")


@dataclass(frozen=True, slots=True)
class ObservedRecord:
    """State of the lock at a resource version."""

    #: None: the lock was deleted.
    record: LeaderElectionRecord | None
    version: str
    #: Object as read; used only by the lock.
    raw: Tree = field(default_factory=dict, repr=False, compare=False)


class Lock(Protocol):
    """Interface of a lock. Raises ``ApiError`` and ``RequestFailed`` like the client. Upstream: ``resourcelock.Interface``."""

    @property
    def identity(self) -> str:
        """Identity of this contender, unique among all contenders."""

    @property
    def name(self) -> str:
        """``namespace/name``, for logs."""

    async def read(self) -> ObservedRecord | None:
        """Return the latest state; None without a lock."""

    async def create(self, record: LeaderElectionRecord) -> ObservedRecord:
        """Create the lock. Raises ``AlreadyExists``."""

    async def replace(self, observed: ObservedRecord, record: LeaderElectionRecord) -> ObservedRecord:
        """Write ``record`` if the lock is unchanged since ``observed``. Raises ``Conflict``, ``NotFound``."""

    def watch(self) -> AsyncIterator[ObservedRecord]:
        """Yield the current state and each change, until the connection ends."""

    def record_event(self, message: str) -> None:
        """Record an event: this contender ``became leader`` or ``stopped leading``."""


class LeaseLock:
    """Lock in a ``coordination.k8s.io/v1`` Lease. Requires get, create and update; watch makes hand-overs quick."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        identity: str,
        labels: dict[str, str] | None = None,
        recorder: EventRecorder | None = None,
    ) -> None:
        """Create a lock; ``labels`` are set on a lease that it creates. Raises ValueError for an empty identity.

        ``recorder`` records changes of the leader as events about the lease.
        """
        if not identity:
            raise ValueError("Lock identity is empty")
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._labels = labels
        self._recorder = recorder
        self._uid = ""

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def name(self) -> str:
        return f"{self._namespace}/{self._name}"

    async def read(self) -> ObservedRecord | None:
        try:
            lease = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except NotFound:
            return None
        return self._observe(lease)

    async def create(self, record: LeaderElectionRecord) -> ObservedRecord:
        metadata: Tree = {"name": self._name, "namespace": self._namespace}
        if self._labels:
            metadata["labels"] = self._labels
        lease = {**_KIND, "metadata": metadata, "spec": spec_of(record)}
        return self._observe(await self._client.create(lease))

    async def replace(self, observed: ObservedRecord, record: LeaderElectionRecord) -> ObservedRecord:
        lease = {**_KIND, "metadata": observed.raw["metadata"], "spec": spec_of(record)}
        return self._observe(await self._client.update(lease))

    async def watch(self) -> AsyncIterator[ObservedRecord]:
        selection = f"metadata.name={self._name}"
        async with self._client.watch(
            LEASES, namespace=self._namespace, field_selector=selection, bookmarks=False
        ) as events:
            async for event in events:
                if event.type == DELETED:
                    yield ObservedRecord(None, resource_version_of(event.object))
                else:
                    yield _observed(event.object)

    def record_event(self, message: str) -> None:
        if self._recorder is None:
            return
        reference = {
            "kind": LEASES.info.kind,
            "apiVersion": LEASES.info.api_version,
            "namespace": self._namespace,
            "name": self._name,
        }
        if self._uid:
            reference["uid"] = self._uid
        self._recorder.event(reference, "Normal", "LeaderElection", f"{self._identity} {message}")

    def _observe(self, lease: Tree) -> ObservedRecord:
        self._uid = uid_of(lease)
        return _observed(lease)


_KIND: Final = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}


def _observed(lease: Tree) -> ObservedRecord:
    return ObservedRecord(record_of(lease), resource_version_of(lease), lease)
