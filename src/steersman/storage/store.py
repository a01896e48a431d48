"""The ``Store`` protocol: keys, revisions and bytes, with etcd's semantics and no Kubernetes in it.

One body per back end (``memory``, ``sqlite``, later ``etcd``); ``tests/conformance/storage`` runs one suite over all.

Promises that every body keeps:

* **One counter.** Every write takes the next integer; those of one transaction take consecutive ones, in its order (in a
  body that cannot, as etcd's, they share one). Revisions are never reused, not even after a crash, as far as anybody was
  told of them.
* **All or nothing.** A transaction is there as a whole or not at all, also after a crash.
* **Durable before answered.** ``txn`` returns after the writes would survive SIGKILL (and, on SQLite with
  ``synchronous=FULL``, power loss). The memory body promises no more than the process's life.
* **Order.** Sinks get every event of their prefix once, in revision order; those of a transaction, as it happens, in one batch.
  A body that commits in this process calls the sinks *before* ``txn`` returns to its caller, so what a reader of the
  sink's state sees is never older than an answered write; a remote body cannot, and its callers wait for the revision.
* **Bounded.** History older than the compaction revision is gone: reading or watching there raises ``Compacted``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class KeyValue(msgspec.Struct, frozen=True, gc=False):
    """One key as of one revision."""

    key: str
    value: bytes
    create_revision: int
    #: Revision of the last write; the object's ``resourceVersion``.
    mod_revision: int
    #: Id of the lease that the key goes with, 0 for none.
    lease_id: int = 0


class Put(msgspec.Struct, frozen=True, gc=False):
    """Write a key, if it is still as expected."""

    key: str
    value: bytes
    #: The key's ``mod_revision`` that this write was based on; 0: it must not exist; None: whatever it is.
    expected: int | None = None
    lease_id: int = 0


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Remove a key, if it is still as expected. Removing an absent key with ``expected=None`` does nothing."""

    key: str
    expected: int | None = None


class Check(msgspec.Struct, frozen=True, gc=False):
    """Change nothing, but fail the transaction unless the key is as expected."""

    key: str
    expected: int


Op = Put | Delete | Check


class Event(msgspec.Struct, frozen=True, gc=False):
    """One change of one key; ``value`` is None when it was removed."""

    key: str
    value: bytes | None
    create_revision: int
    mod_revision: int


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Events of one or more whole revisions, in order; without events it only says how far the store is (progress)."""

    events: tuple[Event, ...]
    #: Everything up to this revision has been delivered.
    revision: int


class Range(msgspec.Struct, frozen=True, gc=False):
    """The answer to a range read."""

    kvs: list[KeyValue]
    #: The store's revision at the time of the read (not the one asked for).
    revision: int
    #: More keys follow; ask again with ``start_after=kvs[-1].key``.
    more: bool
    #: All keys under the prefix and after ``start_after`` at that revision, not only those returned.
    count: int


class StoreError(Exception):
    """Base of what a store raises on purpose."""


class Conflict(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """A key is not as the transaction expected; nothing was written."""

    def __init__(self, key: str, current: KeyValue | None) -> None:
        super().__init__(f"{key}: is at revision {current.mod_revision if current else 'none (absent)'}")
        self.key = key
        #: What is there now; None when the key is absent.
        self.current = current


class Compacted(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The revision asked for lies before what is kept."""

    def __init__(self, revision: int, compact_revision: int) -> None:
        super().__init__(f"revision {revision} has been compacted, the oldest kept is {compact_revision}")
        self.revision = revision
        self.compact_revision = compact_revision


class FutureRevision(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The revision asked for has not been reached yet."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is in the future, the store is at {current}")
        self.revision = revision
        self.current = current


class Unavailable(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The store cannot answer now (closed, disk full, connection lost); the write may or may not have happened."""


class CorruptValue(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """Stored bytes of some keys are damaged: they exist, but cannot be read. They can be deleted and overwritten."""

    def __init__(self, keys: Sequence[str], readable: Range | None = None) -> None:
        super().__init__(f"the stored data of {', '.join(keys)} does not match its checksum")
        self.keys = tuple(keys)
        #: Of a range read: all other keys.
        self.readable = readable


class LeaseNotFound(StoreError):  # noqa: N818 — reads as what happened, like etcd's codes
    """The lease has expired, was revoked, or never was."""


class Subscription(Protocol):
    """A running watch."""

    def close(self) -> None:
        """Stop: the sink is not called again. Idempotent."""


class Store(Protocol):
    """See the module's promises. All methods raise ``Unavailable`` after ``close``."""

    @property
    def revision(self) -> int:
        """The newest revision this process has seen, without asking anybody."""

    async def current_revision(self) -> int:
        """The store's newest revision, linearizable (asks the other side where there is one)."""

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        """The key as of ``revision`` (0: now). Raises ``Compacted``, ``FutureRevision``, ``CorruptValue``."""

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        """Keys that start with ``prefix`` and sort after ``start_after``, in byte order, as of ``revision`` (0: now).

        ``limit`` 0 means all. ``keys_only`` leaves values empty. Raises ``Compacted``, ``FutureRevision``, and
        ``CorruptValue`` with the keys that can be read (``readable``).
        """

    async def txn(self, ops: Sequence[Op]) -> int:
        """Apply all of ``ops`` or none; no key twice. Returns the revision of the last (the current one if nothing changed).

        Raises ``Conflict`` for the first op that does not hold, ``LeaseNotFound``, ``Unavailable``. Raises ``ValueError``
        for a caller's mistake (a key named twice).
        """

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        """Call ``sink`` with every change under ``prefix`` after ``after_revision``, first those that already happened.

        ``sink`` runs on the event loop, must not block and must not raise. ``prefix`` must end in ``/`` (so that
        dispatch is a look-up). A body may call it with an empty batch to report progress. ``on_lost`` is called at most
        once, when the watch ends on its own (``Compacted``: read again; ``Unavailable``: also when the store is closed,
        and when the sink raised). Raises ``Compacted`` when ``after_revision`` is below the compact revision. Within a
        revision the events come in no particular order; that of a removal carries the removed key's ``create_revision``.
        """

    async def compact(self, revision: int) -> None:
        """Forget history before ``revision``. Raises ``FutureRevision``; compacting twice does nothing."""

    @property
    def compact_revision(self) -> int:
        """The oldest revision that can still be read, 0 when nothing was forgotten."""

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        """Make a lease; its keys are deleted (each with an event) when it is not kept alive for ``ttl_seconds``."""

    async def keep_alive(self, lease_id: int) -> None:
        """Renew a lease for its whole time again. Raises ``LeaseNotFound``."""

    async def revoke_lease(self, lease_id: int) -> None:
        """End a lease and delete its keys now. Raises ``LeaseNotFound``."""

    async def check_writable(self) -> None:
        """Raise ``Unavailable`` unless a write would be durable within a bounded time."""

    async def size_bytes(self) -> int:
        """Bytes that the store occupies."""

    async def close(self) -> None:
        """Finish what was accepted, stop all watches and tasks, release files. Idempotent."""
