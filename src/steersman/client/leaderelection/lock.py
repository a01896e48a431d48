"""Where the record of an election is kept: a ``Lease``, or anything else with compare-and-swap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from steersman.apimachinery.errors import is_not_found
from steersman.client.decoding import DELETED
from steersman.client.leaderelection.record import record_of, spec_of
from steersman.client.objects import resource_version_of, uid_of
from steersman.client.resource_types import tree

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.client import Client
    from steersman.client.events import EventRecorder
    from steersman.client.leaderelection.record import Record

Tree = dict[str, Any]

LEASES: Final = tree("coordination.k8s.io/v1", "Lease")


@dataclass(frozen=True, slots=True)
class Seen:
    """The lock as it was at some version."""

    #: None: it was deleted.
    record: Record | None
    version: str
    #: The object that holds it, as it was read; only the lock looks into it.
    raw: Tree = field(default_factory=dict, repr=False, compare=False)


class Lock(Protocol):
    """Raises ``ApiError`` and ``RequestFailed`` as the client does."""

    @property
    def identity(self) -> str:
        """Of this contender, unique among all of them."""

    @property
    def name(self) -> str:
        """For logs: ``namespace/name``."""

    async def read(self) -> Seen | None:
        """The latest state; None when there is no lock."""

    async def create(self, record: Record) -> Seen:
        """Make the lock. Raises ``AlreadyExists``."""

    async def replace(self, seen: Seen, record: Record) -> Seen:
        """Write ``record`` if the lock is still as ``seen``. Raises ``Conflict``, ``NotFound``."""

    def watch(self) -> AsyncIterator[Seen]:
        """The present state and each change, until the connection ends."""

    def record_event(self, what: str) -> None:
        """Tell people that this contender ``became leader`` or ``stopped leading``."""


class LeaseLock:
    """A ``coordination.k8s.io/v1`` Lease. Needs get, create and update on it; watch makes hand-overs quick."""

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
        """Raises ValueError for an empty identity. ``labels`` are put on a lease that is created.

        ``recorder``: events about the lease tell who leads.
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

    async def read(self) -> Seen | None:
        try:
            lease = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except Exception as error:
            if is_not_found(error):
                return None
            raise
        return self._note(lease)

    async def create(self, record: Record) -> Seen:
        metadata: Tree = {"name": self._name, "namespace": self._namespace}
        if self._labels:
            metadata["labels"] = self._labels
        lease = {**_KIND, "metadata": metadata, "spec": spec_of(record)}
        return self._note(await self._client.create(lease))

    async def replace(self, seen: Seen, record: Record) -> Seen:
        lease = {**_KIND, "metadata": seen.raw["metadata"], "spec": spec_of(record)}
        return self._note(await self._client.update(lease))

    async def watch(self) -> AsyncIterator[Seen]:
        selection = f"metadata.name={self._name}"
        async with self._client.watch(
            LEASES, namespace=self._namespace, field_selector=selection, bookmarks=False
        ) as events:
            async for event in events:
                if event.type == DELETED:
                    yield Seen(None, resource_version_of(event.object))
                else:
                    yield _seen(event.object)

    def record_event(self, what: str) -> None:
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
        self._recorder.event(reference, "Normal", "LeaderElection", f"{self._identity} {what}")

    def _note(self, lease: Tree) -> Seen:
        self._uid = uid_of(lease)
        return _seen(lease)


_KIND: Final = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}


def _seen(lease: Tree) -> Seen:
    return Seen(record_of(lease), resource_version_of(lease), lease)
