"""The generic store of one kind: the steps of ``write_pipeline`` that need the strategy or the store, and transactions.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go. Deletion is in ``deletion``.

Promises:

* A write that changes nothing is not stored: no revision, no event, the same resourceVersion.
* No update is lost: each is made again on what another writer left, until no writer is in its way (or its version conflicts).
* A dry run goes the whole way but for the transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import (
    StatusError,
    already_exists,
    conflict,
    invalid,
    plain_error,
    service_unavailable,
)
from steersman.apimachinery.field import ErrorType, FieldError
from steersman.apimachinery.trees import same_tree
from steersman.apiserver.generic.corrupt import corrupt_object
from steersman.apiserver.generic.entry import StaleEntry
from steersman.apiserver.generic.entry_parts import is_terminating
from steersman.apiserver.generic.key_locks import KeyLocks
from steersman.apiserver.generic.server_writes import ServerCreate, ServerUpdate
from steersman.apiserver.generic.storage_codec import UnreadableValueError
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.generic.write_pipeline import ATTEMPTS_MAX, run_create, run_update
from steersman.apiserver.generic.writing import (
    prepare_create,
    prepare_update,
    resource_version_of,
    time_text,
    validate_create,
    validate_update,
)
from steersman.apiserver.workers import in_worker, with_allowance
from steersman.storage.store import Conflict, CorruptValue, Delete, LeaseNotFound, Put, TooLarge, Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry, Layout
    from steersman.apiserver.generic.identity import Identities
    from steersman.apiserver.generic.lifetimes import Lifetimes
    from steersman.apiserver.generic.server_writes import Change, Validate
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.apiserver.request import RequestContext
    from steersman.storage.store import KeyValue, Op, Store

    #: Runs a synchronous step in a worker thread: ``in_worker``, ``with_allowance``.
    Runner = Callable[..., Awaitable[None]]


class ObjectStore:
    """Generic store of one resource; see the module for its guarantees. ``ctx`` has namespace, time, dry run and the resource name of messages."""

    __slots__ = (
        "_drop_disabled",
        "_identities",
        "_is_metered",
        "_key_locks",
        "_lifetimes",
        "_store",
        "_update_hooks",
        "cache",
        "group_kind",
        "has_extra_ops",
        "kind",
        "layout",
        "namespaced",
        "strategy",
    )

    def __init__(
        self,
        store: Store,
        cache: WatchCache,
        strategy: Strategy,
        *,
        group: str,
        identities: Identities,
        lifetimes: Lifetimes | None = None,
        layout: Layout | None = None,
        drop_disabled: Callable[[Tree, Tree | None], None] | None = None,
    ) -> None:
        """``layout``: that of the objects in the write pipeline; None: the cache's, that of the storage version.

        ``drop_disabled``: see ``generic.registry.Kinds``.
        """
        self._store: Final = store
        self.cache: Final = cache
        self.layout: Final = cache.layout if layout is None else layout
        self.strategy: Final = strategy
        self.kind: Final = cache.layout.kind
        #: Name in 422 errors: ``Deployment.apps``.
        self.group_kind: Final = f"{self.kind}.{group}" if group else self.kind
        self.namespaced: Final = cache.namespaced
        self._identities: Final = identities
        self._lifetimes: Final = lifetimes
        self._key_locks: Final = KeyLocks()
        self._drop_disabled: Final = drop_disabled
        self._is_metered: Final[bool] = strategy.is_metered
        self._update_hooks: Final = strategy.update_hooks()
        #: Most kinds write no other keys, so their objects need no copy for another attempt.
        self.has_extra_ops: Final = _has_extra_ops(type(strategy))

    def under(self, strategy: Strategy) -> ObjectStore:
        """Return a store of the same objects with the strategy of another version of a custom resource."""
        return ObjectStore(
            self._store,
            self.cache,
            strategy,
            group=self.group_kind.partition(".")[2],
            identities=self._identities,
            lifetimes=self._lifetimes,
        )

    # -- reading -------------------------------------------------------------------------------------------------------

    def key(self, ctx: RequestContext, name: str) -> str:
        """Return the key of the object that a request names. Raises 400."""
        return self.cache.requested_key(ctx.namespace, name)

    def cached(self, ctx: RequestContext, name: str) -> Entry | None:
        """Return the object in the cache, which may not be ready."""
        return self.cache.get(self.key(ctx, name))

    async def current(self, key: str) -> Entry | None:
        """Return the current object, including recent writes of other servers. Raises 429, 503."""
        if self.cache.remote:
            await self.cache.wait_fresh()
        else:
            await self.followed()
        return self.cache.get(key)

    async def followed(self) -> None:
        """Wait until the cache follows the store. Raises 429.

        Writes wait for it too: a watch can then start at any version that one of them was answered with.
        """
        if not self.cache.is_ready:
            await self.cache.ready()

    async def stored(self, key: str) -> Entry | None:
        """Read the object from the store, bypassing the cache."""
        try:
            return self.entry_of(await self._store.get(key))
        except CorruptValue as error:
            raise corrupt_object(key) from error

    def entry_of(self, kv: KeyValue | None) -> Entry | None:
        """Return the entry of a transaction's conflict. Raises 500 for a value that cannot be read."""
        if kv is None:
            return None
        try:
            return self.cache.layout.entry(kv.key, kv.value, kv.mod_revision, is_stale=kv.is_stale)
        except UnreadableValueError as error:
            raise corrupt_object(kv.key) from error

    async def entry_from(self, kv: KeyValue | None) -> Entry | None:
        """Return the entry of a transaction's conflict, as the write pipeline reads it."""
        return self.entry_of(kv)

    # -- steps of the write pipeline -----------------------------------------------------------------------------------

    def identify(self, ctx: RequestContext, tree: Tree) -> bool:
        """Give a new object its uid, creation time and, from ``generateName``, a name; report whether it was generated."""
        metadata = tree["metadata"]
        metadata["uid"] = self._identities.uid()
        metadata["creationTimestamp"] = time_text(ctx.now)
        prefix = metadata.get("generateName")
        if not prefix or metadata.get("name"):
            return False
        cache = self.cache
        metadata["name"] = self._identities.name(
            prefix, taken=lambda name: cache.get(cache.key(ctx.namespace, name)) is not None
        )
        return True

    def match_version(self, ctx: RequestContext, name: str, metadata: Tree, revision: int) -> None:
        """Set the stored resourceVersion. Raises 409 if the change is based on another one, 422 if a required one is absent."""
        based_on = resource_version_of(metadata)
        if not based_on:
            if not self.strategy.allow_unconditional_update:
                error = FieldError(
                    ErrorType.INVALID, "metadata.resourceVersion", value=0, detail="must be specified for an update"
                )
                raise invalid(ctx.group_resource, name, [error])
        elif based_on != revision:
            raise conflict(ctx.group_resource, name)
        metadata["resourceVersion"] = str(revision)

    def prepare_create(self, ctx: RequestContext, new: Tree) -> None:
        """Apply the strategy's preparation to a new object. Raises 400."""
        if self._drop_disabled is not None:
            self._drop_disabled(new, None)
        prepare_create(self.strategy, ctx, new)

    def validate_create(self, ctx: RequestContext, new: Tree) -> None:
        """Check a prepared new object. Raises 422."""
        validate_create(self.strategy, ctx, new, group_kind=self.group_kind, namespaced=self.namespaced)

    def prepare_update(self, ctx: RequestContext, new: Tree, old: Tree, subresource: str) -> None:
        """Apply the strategy's preparation to a change through a subresource (or none). Raises 400."""
        if self._drop_disabled is not None:
            self._drop_disabled(new, old)
        prepare_update(self.strategy, self._update_hooks[subresource], ctx, new, old, namespaced=self.namespaced)

    def validate_update(self, ctx: RequestContext, new: Tree, old: Tree, subresource: str) -> None:
        """Check a prepared change. Raises 422."""
        validate_update(
            self.strategy,
            self._update_hooks[subresource],
            ctx,
            new,
            old,
            group_kind=self.group_kind,
            namespaced=self.namespaced,
        )

    def runner(self, *, is_large: bool) -> Runner | None:
        """Return the worker pool for preparation and validation; None: they run on the loop."""
        if is_large:
            return in_worker
        return with_allowance if self._is_metered else None

    async def allocate(self, ctx: RequestContext, new: Tree, old: Tree | None) -> Sequence[Op]:
        """Set values from other keys in ``new``, and return their operations. Raises the strategy's errors."""
        if old is None:
            return await self.strategy.extra_ops_on_create(ctx, new)
        return await self.strategy.extra_ops_on_update(ctx, new, old)

    def insert(self, ctx: RequestContext, new: Tree, extra_ops: Sequence[Op] = ()) -> Awaitable[Entry]:
        """Store a new object. Raises ``Conflict`` when the key is taken, or one of ``extra_ops`` fails."""
        key = self.cache.key(ctx.namespace, new["metadata"]["name"])
        if ctx.dry_run:
            return self._try_insert(ctx, key, new)
        return self._put(ctx, key, new, expected=0, extra_ops=extra_ops)

    async def _try_insert(self, ctx: RequestContext, key: str, tree: Tree) -> Entry:
        """Insert in a dry run: the object keeps the resourceVersion of the request. Upstream: ``DryRunnableStorage``."""
        kv = await self._store.get(key)
        if kv is not None:
            raise Conflict(key, kv)
        return await in_worker(self.layout.unstored, key, tree) if ctx.is_large else self.layout.unstored(key, tree)

    async def replace(
        self, ctx: RequestContext, new: Tree, old: Tree, entry: Entry, extra_ops: Sequence[Op] = ()
    ) -> Entry:
        """Store a changed object; remove it if its last finalizer is gone. Raises ``Conflict``.

        A change that changes nothing is not stored (the answer is ``entry``), unless the stored value is stale.
        """
        key = entry.key
        if self._is_released(new, old):
            if not ctx.dry_run:
                await self.delete(ctx, key, new, expected=entry.revision)
            return await self._unstored(ctx, key, new, entry.revision)
        is_same = await in_worker(same_tree, new, old) if ctx.is_large else same_tree(new, old)
        if is_same and not isinstance(entry, StaleEntry):
            return entry
        if ctx.dry_run:
            return await self._unstored(ctx, key, new, entry.revision)
        return await self._put(ctx, key, new, expected=entry.revision, extra_ops=extra_ops)

    def _is_released(self, new: Tree, old: Tree) -> bool:
        """True if the update removed the last finalizer of a terminating object without a grace period."""
        old_metadata = old["metadata"]
        return (
            bool(old_metadata.get("deletionTimestamp"))
            and not new["metadata"].get("finalizers")
            and not old_metadata.get("deletionGracePeriodSeconds")
            and self.strategy.is_finalized(new)
        )

    def taken(self, ctx: RequestContext, name: str, kv: KeyValue | None) -> StatusError:
        """Return the 409 for a create whose name is taken by ``kv``."""
        error = already_exists(ctx.group_resource, name)
        entry = self.entry_of(kv)
        if entry is not None and is_terminating(entry.raw):
            error.status["message"] = f"object is being deleted: {error.message}"
        return error

    def contended(self, key: str) -> AbstractAsyncContextManager[None]:
        """Return the context that serializes the contending writers of a key."""
        return self._key_locks.hold(key)

    # -- writes of the server itself -----------------------------------------------------------------------------------

    async def create(self, ctx: RequestContext, tree: Tree, validate: Validate | None = None) -> Entry:
        """Store a new object as the server itself. Raises 400, 409, 422."""
        return await run_create(ServerCreate(self, ctx, tree, validate))

    async def update(self, ctx: RequestContext, name: str, change: Change) -> tuple[Entry, bool]:
        """Store a change of the server itself; return the object and whether it was created. Raises 400, 404, 409, 422, 500."""
        write = ServerUpdate(self, ctx, name, change)
        return await run_update(write), write.created

    # -- transactions ------------------------------------------------------------------------------------------------

    async def put(self, ctx: RequestContext, key: str, tree: Tree, entry: Entry) -> Entry:
        """Replace ``entry`` by a tree, unless they are equal. Raises ``Conflict``."""
        changed = await self._unstored(ctx, key, tree, entry.revision)
        if ctx.dry_run or (changed.raw == entry.raw and not isinstance(entry, StaleEntry)):
            return changed
        return await self._put(ctx, key, tree, expected=entry.revision)

    async def _unstored(self, ctx: RequestContext, key: str, tree: Tree, revision: int) -> Entry:
        """Return the entry of an object without storing it."""
        value = await in_worker(self.layout.encode, tree) if ctx.is_large else self.layout.encode(tree)
        return self.layout.entry(key, value, revision)

    async def delete(self, ctx: RequestContext, key: str, tree: Tree, *, expected: int) -> int:
        """Remove an object and its allocations; return the revision. Raises ``Conflict``."""
        for _ in range(ATTEMPTS_MAX):
            ops: list[Op] = []
            if self.has_extra_ops:
                ops += await self.strategy.extra_ops_on_delete(ctx, tree)
            ops.append(Delete(key, expected=expected))  # last: its revision is the transaction's
            try:
                return await self._commit(ops)
            except Conflict as lost:
                if lost.key == key:
                    raise
        raise conflict(ctx.group_resource, tree["metadata"]["name"])

    async def delete_corrupt(self, key: str, *, expected: int) -> None:
        """Remove an object whose stored data is damaged, without decoding it. Raises 409, 503."""
        try:
            await self._commit([Delete(key, expected=expected)])
        except Conflict as lost:
            raise plain_error(f"{lost.key} was written meanwhile", code=409) from lost

    async def _put(
        self, ctx: RequestContext, key: str, tree: Tree, *, expected: int, extra_ops: Sequence[Op] = ()
    ) -> Entry:
        value = await in_worker(self.layout.stored, tree) if ctx.is_large else self.layout.stored(tree)
        if self._lifetimes is not None:
            return await self._put_leased(key, value, self._lifetimes, expected=expected)
        try:
            # the object comes last: its revision is the transaction's
            revision = await self._store.txn([*extra_ops, Put(key, value, expected)])
        except Unavailable as error:  # as ``_commit``, without one more coroutine in every write
            raise service_unavailable(str(error)) from error
        except TooLarge as excess:
            raise plain_error(str(excess)) from excess
        except CorruptValue as damage:
            raise corrupt_object(damage.keys[0]) from damage
        return self._written(key, value, revision)

    async def _put_leased(self, key: str, value: bytes, lifetimes: Lifetimes, *, expected: int) -> Entry:
        lease_id = await lifetimes.lease_id()
        try:
            revision = await self._commit([Put(key, value, expected, lease_id)])
        except LeaseNotFound:
            lifetimes.forget(lease_id)
            revision = await self._commit([Put(key, value, expected, await lifetimes.lease_id())])
        return self._written(key, value, revision)

    def _written(self, key: str, value: bytes, revision: int) -> Entry:
        """Return the entry of a value just stored: that of the cache, if the store's event has reached it."""
        entry = self.cache.get(key)
        if entry is None or entry.revision != revision:
            return self.layout.entry(key, value, revision)
        return entry

    async def _commit(self, ops: Sequence[Op]) -> int:
        try:
            return await self._store.txn(ops)
        except Unavailable as error:
            raise service_unavailable(str(error)) from error
        except TooLarge as excess:
            raise plain_error(str(excess)) from excess
        except CorruptValue as damage:
            raise corrupt_object(damage.keys[0]) from damage


def _has_extra_ops(kind: type[Strategy]) -> bool:
    return (kind.extra_ops_on_create, kind.extra_ops_on_update, kind.extra_ops_on_delete) != (
        Strategy.extra_ops_on_create,
        Strategy.extra_ops_on_update,
        Strategy.extra_ops_on_delete,
    )
