"""The generic store of one kind: all its writes, whatever the version or subresource they come through.

It is upstream's ``genericregistry.Store``: the strategy says what is special, this module in which order things happen,
what is written in one transaction, and what becomes of writers that meet. Deletion is next door.

Promises:

* A write that changes nothing is not stored: no revision, no event, the same resourceVersion.
* No update is lost: each is made again on what another writer left, until it meets nobody (or conflicts by its version).
* A dry run goes the whole way but for the transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.errors import (
    StatusError,
    already_exists,
    conflict,
    generate_name_conflict,
    invalid,
    not_found,
    plain_error,
    service_unavailable,
)
from steersman.apimachinery.field import ErrorType, FieldError
from steersman.apimachinery.trees import copy_tree, same_tree
from steersman.apiserver.generic.contention import Turns
from steersman.apiserver.generic.corrupt import corrupt_object
from steersman.apiserver.generic.entry import Entry
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.generic.writing import (
    CreateRules,
    UpdateRules,
    before_create,
    before_update,
    resource_version_of,
    time_text,
    uid_mismatch,
    wipe_system_fields,
)
from steersman.apiserver.workers import LARGE_BYTES, in_worker, with_allowance
from steersman.storage.store import Conflict, CorruptValue, Delete, LeaseNotFound, Put, Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apiserver.generic.identity import Identities
    from steersman.apiserver.generic.lifetimes import Lifetimes
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.apiserver.request import RequestContext
    from steersman.storage.store import KeyValue, Op, Store

    Tree = dict[str, Any]
    #: The object as it would be stored, in the storage version, and what is stored (None: nothing yet). Returns what there is
    #: to wait for, if anything.
    Validate = Callable[[Tree, Tree | None], Awaitable[None] | None]
    #: From what is stored (None: nothing) to what the client wants, a new tree; called again after each lost race.
    Transform = Callable[[Tree | None], Awaitable[Tree]]

#: Tries of one update before it is given up as conflicting. Contending writers take turns, so few need more than two.
ATTEMPTS_MAX: Final = 100


class Change(msgspec.Struct, frozen=True):
    """One update: how to make it, and what stands in its way."""

    transform: Transform
    #: Admission's last word on a change, and on an object that the update creates.
    validate: Validate | None = None
    validate_create: Validate | None = None
    subresource: str = ""
    #: An object that does not exist is made. None: as the strategy says.
    may_create: bool | None = None
    #: Only the object with this uid is meant; empty: whichever has the name.
    uid: str = ""


class ObjectStore:
    """See the module's promises. ``ctx`` says namespace, time, dry run and how messages name the resource."""

    __slots__ = (
        "_allocates",
        "_create_rules",
        "_identities",
        "_is_metered",
        "_lifetimes",
        "_rules",
        "_store",
        "_turns",
        "cache",
        "group_kind",
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
    ) -> None:
        self._store: Final = store
        self.cache: Final = cache
        self.layout: Final = cache.layout
        self.strategy: Final = strategy
        self.kind: Final = cache.layout.kind
        #: As 422s name it: ``Deployment.apps``.
        self.group_kind: Final = f"{self.kind}.{group}" if group else self.kind
        self.namespaced: Final = cache.namespaced
        self._identities: Final = identities
        self._lifetimes: Final = lifetimes
        self._turns: Final = Turns()
        self._create_rules: Final = CreateRules(strategy)
        self._is_metered: Final[bool] = strategy.is_metered
        self._rules: Final[dict[str, UpdateRules]] = {}
        #: Which of the strategy's companions there are: most kinds have none, and pay nothing.
        self._allocates: Final = {
            verb: getattr(type(strategy), f"companions_for_{verb}") is not getattr(Strategy, f"companions_for_{verb}")
            for verb in ("create", "update", "delete")
        }

    def under(self, strategy: Strategy) -> ObjectStore:
        """The same objects by other rules: those of another version of a custom resource."""
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
        """Where the object of this name lies."""
        return self.cache.key(ctx.namespace, name)

    def cached(self, ctx: RequestContext, name: str) -> Entry | None:
        """The object of this name as the cache has it now, ready or not."""
        return self.cache.get(self.key(ctx, name))

    async def current(self, key: str) -> Entry | None:
        """The object as the cache has it (of a local store: as it is)."""
        await self._followed()
        return self.cache.get(key)

    async def _followed(self) -> None:
        """Return when the cache follows the store. Raises 429.

        Writes wait for it too: a watch can then start at any version that one of them was answered with.
        """
        if not self.cache.is_ready:
            await self.cache.ready()

    async def stored(self, key: str) -> Entry | None:
        """The object as the store has it, whatever the cache says."""
        try:
            return self.entry_of(await self._store.get(key))
        except CorruptValue as error:
            raise corrupt_object(key) from error

    def entry_of(self, kv: KeyValue | None) -> Entry | None:
        """The entry of what a transaction met."""
        return None if kv is None else self.layout.entry(kv.key, kv.value, kv.mod_revision)

    # -- creating ------------------------------------------------------------------------------------------------------

    async def create(self, ctx: RequestContext, tree: Tree, validate: Validate | None = None) -> Entry:
        """Store a new object, which is given its name, uid and time here. Raises 400, 409, 422."""
        if not self.cache.is_ready:
            await self._followed()
        generated = self._identify(ctx, tree)
        if ctx.is_large or self._is_metered:
            await self._before_create(ctx, tree)
        else:
            before_create(self._create_rules, ctx, tree, group_kind=self.group_kind, namespaced=self.namespaced)
        waiting = None if validate is None else validate(tree, None)
        if waiting is not None:
            await waiting
        metadata = tree["metadata"]
        if "resourceVersion" in metadata and not ctx.dry_run:
            _refuse_version(metadata)
        name = metadata["name"]
        key = self.cache.key(ctx.namespace, name)
        try:
            return await self._insert(ctx, key, tree)
        except Conflict as lost:
            if generated:
                raise generate_name_conflict(ctx.group_resource, name, retry_after_seconds=1) from None
            raise self._taken(ctx, name, lost.current) from None

    def _identify(self, ctx: RequestContext, tree: Tree) -> bool:
        """Give a new object its uid, time and, if need be, a name. Whether the name was made up."""
        metadata = tree["metadata"]
        metadata["uid"] = self._identities.uid()
        metadata["creationTimestamp"] = time_text(ctx.now)
        prefix = metadata.get("generateName")
        if not prefix or metadata.get("name"):
            return False
        metadata["name"] = self._generated_name(ctx.namespace, prefix)
        return True

    def _generated_name(self, namespace: str, prefix: str) -> str:
        cache = self.cache
        return self._identities.name(prefix, taken=lambda name: cache.get(cache.key(namespace, name)) is not None)

    def _insert(self, ctx: RequestContext, key: str, tree: Tree) -> Awaitable[Entry]:
        """The transaction of a create. Raises ``Conflict`` when the key is taken."""
        if ctx.dry_run:
            return self._try_insert(ctx, key, tree)
        if self._allocates["create"]:
            return self._insert_with_companions(ctx, key, tree)
        return self._put(key, tree, expected=0)

    async def _try_insert(self, ctx: RequestContext, key: str, tree: Tree) -> Entry:
        """A dry run's."""
        kv = await self._store.get(key)
        if kv is not None:
            raise Conflict(key, kv)
        if self._allocates["create"]:
            await self.strategy.companions_for_create(ctx, tree)
        return self._without_version(key, tree)

    def _insert_with_companions(self, ctx: RequestContext, key: str, tree: Tree) -> Awaitable[Entry]:
        return self._put_with(key, tree, 0, lambda new: self.strategy.companions_for_create(ctx, new))

    def _taken(self, ctx: RequestContext, name: str, kv: KeyValue | None) -> StatusError:
        error = already_exists(ctx.group_resource, name)
        entry = self.entry_of(kv)
        if entry is not None and entry.tree()["metadata"].get("deletionTimestamp"):
            error.status["message"] = f"object is being deleted: {error.message}"
        return error

    # -- updating ------------------------------------------------------------------------------------------------------

    async def update(self, ctx: RequestContext, name: str, change: Change) -> tuple[Entry, bool]:
        """Store a changed object; answers it and whether it was created. Raises 400, 404, 409, 422, 500."""
        key = self.cache.key(ctx.namespace, name)
        entry = await self.current(key)
        try:
            return await self._try(ctx, name, change, key, entry)
        except Conflict as lost:
            entry = self.entry_of(lost.current)
        except StatusError:
            if not self.cache.remote:
                raise
            # the cache of a remote store may lag behind: nothing is refused because of what it says
            fresh = await self.stored(key)
            if (fresh and fresh.revision) == (entry and entry.revision):
                raise
            entry = fresh
        async with self._turns.turn(key):
            for _ in range(ATTEMPTS_MAX):
                entry = await self.stored(key) if self.cache.remote else await self.current(key)
                try:
                    return await self._try(ctx, name, change, key, entry)
                except Conflict:
                    continue
        raise conflict(ctx.group_resource, name)

    async def _try(
        self, ctx: RequestContext, name: str, change: Change, key: str, entry: Entry | None
    ) -> tuple[Entry, bool]:
        """One attempt on ``entry``. Raises ``Conflict`` when that is no longer what is stored."""
        is_large = ctx.is_large or (entry is not None and len(entry.raw) > LARGE_BYTES)
        if entry is None:
            old = None
        else:
            old = await in_worker(self.layout.tree, entry) if is_large else self.layout.tree(entry)
        if change.uid:
            found = "" if old is None else old["metadata"].get("uid") or ""
            if found != change.uid:
                raise uid_mismatch(ctx.group_resource, name, key=key, wanted=change.uid, found=found)
        if entry is None or old is None:
            return await self._create_on_update(ctx, name, change, key), True
        new = await change.transform(old)
        self._check_version(ctx, name, new["metadata"], entry.revision)
        rules = self._rules_for(change.subresource)
        if is_large or self._is_metered:
            await self._before_update(rules, ctx, new, old, is_large=is_large)
        else:
            before_update(self.strategy, rules, ctx, new, old, group_kind=self.group_kind, namespaced=self.namespaced)
        waiting = None if change.validate is None else change.validate(new, old)
        if waiting is not None:
            await waiting
        if self._is_released(new, old):
            return await self._remove(ctx, key, new, entry), False
        if await in_worker(same_tree, new, old) if is_large else same_tree(new, old):
            return entry, False
        return await self._replace(ctx, key, new, old, entry), False

    async def _create_on_update(self, ctx: RequestContext, name: str, change: Change, key: str) -> Entry:
        may_create = self.strategy.allow_create_on_update if change.may_create is None else change.may_create
        if not may_create or change.subresource:
            raise not_found(ctx.group_resource, name)
        new = await change.transform(None)
        resource_version_of(new["metadata"])
        wipe_system_fields(new["metadata"])
        self._identify(ctx, new)
        await self._before_create(ctx, new)
        waiting = None if change.validate_create is None else change.validate_create(new, None)
        if waiting is not None:
            await waiting
        return await self._insert(ctx, key, new)

    def _check_version(self, ctx: RequestContext, name: str, metadata: Tree, revision: int) -> None:
        """Bring the new object to the stored one's version. Raises 409 when it was based on another, 422 when unsaid."""
        based_on = resource_version_of(metadata)
        if not based_on:
            if not self.strategy.allow_unconditional_update:
                why = FieldError(
                    ErrorType.INVALID, "metadata.resourceVersion", value=0, detail="must be specified for an update"
                )
                raise invalid(ctx.group_resource, name, [why])
        elif based_on != revision:
            raise conflict(ctx.group_resource, name)
        metadata["resourceVersion"] = str(revision)

    def _rules_for(self, subresource: str) -> UpdateRules:
        rules = self._rules.get(subresource)
        if rules is None:
            rules = self._rules[subresource] = UpdateRules(self.strategy, subresource)
        return rules

    def _is_released(self, new: Tree, old: Tree) -> bool:
        """Whether the update took away the last that held a terminating object."""
        old_metadata = old["metadata"]
        return (
            bool(old_metadata.get("deletionTimestamp"))
            and not new["metadata"].get("finalizers")
            and not old_metadata.get("deletionGracePeriodSeconds")
            and self.strategy.is_finalized(new)
        )

    async def _remove(self, ctx: RequestContext, key: str, new: Tree, entry: Entry) -> Entry:
        """Remove the object instead of storing it; the answer is what the client sent, at the old version."""
        if not ctx.dry_run:
            await self.delete(ctx, key, new, expected=entry.revision)
        return self.layout.entry(key, self.layout.encode(new), entry.revision)

    async def _replace(self, ctx: RequestContext, key: str, new: Tree, old: Tree, entry: Entry) -> Entry:
        """The transaction of an update. Raises ``Conflict``."""
        if ctx.dry_run:
            if self._allocates["update"]:
                await self.strategy.companions_for_update(ctx, new, old)
            return self.layout.entry(key, self.layout.encode(new), entry.revision)
        if not self._allocates["update"]:
            return await self._put(key, new, expected=entry.revision)
        return await self._put_with(
            key, new, entry.revision, lambda tree: self.strategy.companions_for_update(ctx, tree, old)
        )

    # -- preparation and validation ------------------------------------------------------------------------------------

    async def _before_create(self, ctx: RequestContext, tree: Tree) -> None:
        """As ``before_create``, in a worker where it is expensive."""
        run = self._runner(is_large=ctx.is_large)
        if run is None:
            before_create(self._create_rules, ctx, tree, group_kind=self.group_kind, namespaced=self.namespaced)
        else:
            await run(
                before_create, self._create_rules, ctx, tree, group_kind=self.group_kind, namespaced=self.namespaced
            )

    async def _before_update(
        self, rules: UpdateRules, ctx: RequestContext, new: Tree, old: Tree, *, is_large: bool
    ) -> None:
        """As ``before_update``, in a worker where it is expensive."""
        run = self._runner(is_large=is_large)
        strategy, group_kind, namespaced = self.strategy, self.group_kind, self.namespaced
        if run is None:
            before_update(strategy, rules, ctx, new, old, group_kind=group_kind, namespaced=namespaced)
        else:
            await run(before_update, strategy, rules, ctx, new, old, group_kind=group_kind, namespaced=namespaced)

    def _runner(self, *, is_large: bool) -> Callable[..., Awaitable[None]] | None:
        """Return where a step runs; None: on the loop."""
        if is_large and self.strategy.runs_in_workers:
            return in_worker
        return with_allowance if self._is_metered else None

    # -- transactions ------------------------------------------------------------------------------------------------

    async def put(self, ctx: RequestContext, key: str, tree: Tree, entry: Entry) -> Entry:
        """Store a tree in the place of ``entry`` as it is, unless nothing differs. Raises ``Conflict``."""
        value = self.layout.encode(tree)
        changed = self.layout.entry(key, value, entry.revision)
        if ctx.dry_run or changed.raw == entry.raw:
            return changed
        return await self._put(key, tree, expected=entry.revision)

    async def delete(self, ctx: RequestContext, key: str, tree: Tree, *, expected: int) -> int:
        """Remove an object and what was allocated to it; answers the revision. Raises ``Conflict``."""
        for _ in range(ATTEMPTS_MAX):
            ops: list[Op] = []
            if self._allocates["delete"]:
                ops += await self.strategy.companions_for_delete(ctx, tree)
            ops.append(Delete(key, expected=expected))  # last: its revision is the transaction's
            try:
                return await self._commit(ops)
            except Conflict as lost:
                if lost.key == key:
                    raise
        raise conflict(ctx.group_resource, tree["metadata"]["name"])

    async def delete_corrupt(self, key: str, *, expected: int) -> None:
        """Remove an object whose stored data is damaged, without a look at it. Raises 409, 503."""
        try:
            await self._commit([Delete(key, expected=expected)])
        except Conflict as lost:
            raise plain_error(f"{lost.key} was written meanwhile", code=409) from lost

    async def _put(self, key: str, tree: Tree, *, expected: int, companions: Sequence[Op] = ()) -> Entry:
        value = self.layout.encode(tree)
        if self._lifetimes is not None:
            return await self._put_leased(key, value, self._lifetimes, expected=expected)
        try:
            # the object comes last: its revision is the transaction's
            revision = await self._store.txn([*companions, Put(key, value, expected)])
        except Unavailable as error:  # as ``_commit``, without one more coroutine in every write
            raise service_unavailable(str(error)) from error
        except CorruptValue as error:
            raise corrupt_object(error.keys[0]) from error
        return self._written(key, value, revision)

    async def _put_leased(self, key: str, value: bytes, lifetimes: Lifetimes, *, expected: int) -> Entry:
        try:
            revision = await self._commit([Put(key, value, expected, await lifetimes.lease_id())])
        except LeaseNotFound:
            lifetimes.forget()
            revision = await self._commit([Put(key, value, expected, await lifetimes.lease_id())])
        return self._written(key, value, revision)

    def _written(self, key: str, value: bytes, revision: int) -> Entry:
        """The entry of what was just stored: the cache's, which has it from the store's own event, if it is there."""
        entry = self.cache.get(key)
        if entry is None or entry.revision != revision:
            return self.layout.entry(key, value, revision)
        return entry

    async def _put_with(
        self, key: str, tree: Tree, expected: int, companions: Callable[[Tree], Awaitable[Sequence[Op]]]
    ) -> Entry:
        """Store an object together with its companions, which are asked for again when one of them meets another's."""
        pristine = copy_tree(tree)
        for _ in range(ATTEMPTS_MAX):
            ops = await companions(tree)
            try:
                return await self._put(key, tree, expected=expected, companions=ops)
            except Conflict as lost:
                if lost.key == key:
                    raise
            tree = copy_tree(pristine)
        raise plain_error(f"the allocations of {key} were taken by others again and again")

    async def _commit(self, ops: Sequence[Op]) -> int:
        try:
            return await self._store.txn(ops)
        except Unavailable as error:
            raise service_unavailable(str(error)) from error
        except CorruptValue as error:
            raise corrupt_object(error.keys[0]) from error

    def _without_version(self, key: str, tree: Tree) -> Entry:
        """An object that is not stored, as the answer to a dry run."""
        return Entry(key, b"{" + self.layout.encode(tree)[len(self.layout.head) :], 0)


def _refuse_version(metadata: Tree) -> None:
    """A create may not say a version (what is no number says none)."""
    try:
        version = resource_version_of(metadata)
    except StatusError:
        return
    if version:
        raise plain_error("resourceVersion should not be set on objects to be created")
