"""The ``Store`` protocol: keys, revisions and bytes, with etcd's semantics and without Kubernetes concepts.

One implementation per back end (``memory``, ``sqlite``, ``etcd``); ``tests/conformance/storage`` runs one suite over all.
Guarantees of every implementation:

* **One counter.** Every write takes the next integer; the writes of one transaction take consecutive ones, in order, or share one
  (etcd); the last write's is the transaction's. Revisions that were reported are never reused, not even after a crash.
* **Atomic.** A transaction is applied as a whole or not at all, also after a crash.
* **Durable before acknowledged.** ``txn`` returns after the writes would survive SIGKILL (and, on SQLite with
  ``synchronous=FULL``, power loss). The memory store is durable within the process only.
* **Ordered.** Sinks receive every event of their prefix once, in revision order; the events of a transaction in one batch.
  Sinks are called *before* ``txn`` returns, so the sink's state is never older than a write that this process has
  acknowledged. A store that other processes write to (``is_shared``) delivers their writes later: callers that depend on them
  wait with ``current_revision``. If the watch of a shared store is disturbed, ``txn`` returns after a few seconds
  without it.
* **Bounded.** History before the compact revision is gone: reading or watching it raises ``Compacted``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class KeyValue(msgspec.Struct, frozen=True, gc=False):
    """A key as of one revision."""

    key: str
    value: bytes
    create_revision: int
    #: Revision of the last write; the object's ``resourceVersion``.
    mod_revision: int
    #: Lease id, 0 for none.
    lease_id: int = 0
    #: True if a write of the same value would store other bytes (``encryption``).
    is_stale: bool = False


class Put(msgspec.Struct, frozen=True, gc=False):
    """Write a key if its expectation holds."""

    key: str
    value: bytes
    #: Expected ``mod_revision`` of the key; 0: the key must not exist; None: no expectation.
    expected: int | None = None
    lease_id: int = 0


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Remove a key if its expectation holds. Removing an absent key with ``expected=None`` does nothing."""

    key: str
    expected: int | None = None


class Check(msgspec.Struct, frozen=True, gc=False):
    """Fail the transaction unless the expectation holds; changes nothing."""

    key: str
    expected: int


Op = Put | Delete | Check


class Event(msgspec.Struct, frozen=True, gc=False):
    """Change of one key; ``value`` is None for a removal."""

    key: str
    value: bytes | None
    create_revision: int
    mod_revision: int
    #: See ``KeyValue.is_stale``.
    is_stale: bool = False


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Events of one or more whole revisions, in order; without events it reports progress."""

    events: tuple[Event, ...]
    #: Events up to this revision have been delivered.
    revision: int


class Range(msgspec.Struct, frozen=True, gc=False):
    """Result of a range read."""

    kvs: list[KeyValue]
    #: Revision of the store at the time of the read, not the requested one.
    revision: int
    #: More keys follow; continue with ``start_after=kvs[-1].key``.
    more: bool
    #: Number of all keys under the prefix after ``start_after`` at that revision, returned or not.
    count: int


class StoreError(Exception):
    """Base class of the store's exceptions."""


class Conflict(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The expectation of an operation failed; nothing was written."""

    def __init__(self, key: str, current: KeyValue | None) -> None:
        super().__init__(f"{key}: is at revision {current.mod_revision if current else 'none (absent)'}")
        self.key = key
        #: Current state; None when the key is absent.
        self.current = current


class Compacted(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The requested revision is older than the compact revision."""

    def __init__(self, revision: int, compact_revision: int) -> None:
        super().__init__(f"revision {revision} has been compacted, the oldest kept is {compact_revision}")
        self.revision = revision
        self.compact_revision = compact_revision


class FutureRevision(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The requested revision has not been reached yet."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is in the future, the store is at {current}")
        self.revision = revision
        self.current = current


class Unavailable(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The store cannot respond (closed, disk full, connection lost); a write may or may not have been applied."""


class Stalled(Unavailable):
    """A write did not become durable in time; it may become durable later."""


class TooLarge(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The transaction exceeds the store's limit of one request; nothing was written."""


class CorruptValue(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """Stored bytes of some keys are damaged. The keys exist but cannot be read; they can be deleted and overwritten."""

    def __init__(self, keys: Sequence[str], readable: Range | None = None) -> None:
        super().__init__(f"the stored data of {', '.join(keys)} does not match its checksum")
        self.keys = tuple(keys)
        #: All other keys of a range read.
        self.readable = readable


class LeaseNotFound(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The lease expired, was revoked, or never existed."""


class Subscription(Protocol):
    """A running watch."""

    def close(self) -> None:
        """Stop: the sink is not called again. Idempotent."""


class Store(Protocol):
    """Key-value store; see the module for its guarantees. All methods raise ``Unavailable`` after ``close``."""

    @property
    def revision(self) -> int:
        """Newest revision up to which every sink has received its events."""

    @property
    def is_shared(self) -> bool:
        """True if other processes write to the same store."""

    async def current_revision(self) -> int:
        """Return the newest revision, linearizable; by then every sink has received its events up to it.

        A shared store is queried. Raises ``Unavailable`` also if its watch does not follow.
        """

    async def reached(self, revision: int, *, seconds: float) -> bool:
        """Wait until every sink has received its events up to ``revision``, at most ``seconds``; return whether it has."""

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        """Return the key as of ``revision`` (0: now). Raises ``Compacted``, ``FutureRevision``, ``CorruptValue``."""

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        """Return keys with ``prefix`` that sort after ``start_after``, in byte order, as of ``revision`` (0: now).

        ``limit`` 0 means all. ``keys_only`` leaves values empty. Raises ``Compacted``, ``FutureRevision``, and
        ``CorruptValue`` with the readable keys (``readable``).
        """

    async def txn(self, ops: Sequence[Op]) -> int:
        """Apply all of ``ops`` or none; return the revision of the last write, or the current one if nothing changed.

        Raises ``Conflict`` for the first op whose expectation fails, ``LeaseNotFound``, ``Unavailable``, ``TooLarge``. Raises
        ``ValueError`` for invalid ops, e.g. duplicate keys.
        """

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        """Call ``sink`` with every change under ``prefix`` after ``after_revision``, past and future.

        ``sink`` runs on the event loop, must not block and must not raise. ``prefix`` must end in ``/`` (so that
        dispatch is a look-up). Empty batches report progress. ``on_lost`` is called at most once, when the watch ends
        by itself (``Compacted``: read again; ``Unavailable``: also when the store is closed, and when the sink raised).
        Raises ``Compacted`` when ``after_revision`` is below the compact revision. Within a revision the events have no
        particular order; a removal carries the removed key's ``create_revision``.
        """

    async def compact(self, revision: int) -> None:
        """Drop history before ``revision``. Raises ``FutureRevision``. Idempotent."""

    @property
    def compact_revision(self) -> int:
        """Oldest readable revision, 0 before any compaction."""

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        """Create a lease; its keys are deleted (each with an event) unless it is renewed within ``ttl_seconds``."""

    async def keep_alive(self, lease_id: int) -> None:
        """Renew a lease for its full TTL. Raises ``LeaseNotFound``."""

    async def revoke_lease(self, lease_id: int) -> None:
        """Delete a lease and its keys now. Raises ``LeaseNotFound``."""

    async def check_writable(self) -> None:
        """Raise ``Unavailable`` unless a write would be durable within a bounded time; ``Stalled`` if it may only be slow."""

    async def size_bytes(self) -> int:
        """Return the size of the store in bytes."""

    async def close(self) -> None:
        """Finish accepted writes, end all watches and tasks, release files. Idempotent."""
