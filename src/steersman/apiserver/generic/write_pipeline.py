"""The write pipeline: the steps of every request that stores an object, in one order.

==================  =================================================================================================
step                what it does
==================  =================================================================================================
``decode``          the body, or the stored object and a patch, to ``new``, in the version of the request
``match_path``      name and namespace are those of the path; duplicate owner references are removed
``default``         defaults of absent fields
``manage_fields``   ``metadata.managedFields``
``convert``         ``new`` to the storage version
``mutate``          mutating admission
``after_mutation``  metadata is repaired; a Scale is merged into its object
``identify``        a new object gets uid, creation time and generated name; a change gets the stored resourceVersion
``prepare``         system fields, ``Strategy.prepare_for_create`` or ``prepare_for_update``
``validate``        rules of metadata and of the kind; warnings; the stored form
``allocate``        values from other keys: cluster IPs and node ports of Services; most kinds have none
``admit``           validating admission
``commit``          one transaction
==================  =================================================================================================

``run_create`` and ``run_update`` call the steps of a ``Write``; the verbs and subresources are its subclasses, and the endpoint
renders what they return. Steps up to ``convert``, and ``prepare`` with ``validate``, are synchronous: they run in a worker
thread for large objects. ``mutate`` and ``admit`` return an awaitable only if a plugin waits.

An update that loses a race is repeated from the first step on the newly stored object. Contending writers of one object take
turns.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go, pkg/registry/generic/registry/store.go
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError, conflict, generate_name_conflict, not_found, plain_error
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.authz.pending import PendingDecisionError, call_with, with_decisions
from steersman.apiserver.generic.conversion import PendingConversionError
from steersman.apiserver.generic.writing import resource_version_of, sent_version, uid_mismatch
from steersman.apiserver.workers import LARGE_BYTES, in_worker
from steersman.storage.store import Conflict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Hashable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.interface import Decision
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.store import ObjectStore
    from steersman.apiserver.request import RequestContext
    from steersman.storage.store import Op


#: Attempts of one update before it fails with a conflict. Contending writers take turns, so few need more than two.
ATTEMPTS_MAX: Final = 100
#: Conversions of one write: an apply needs four for each version of its managers.
_CONVERSIONS_MAX: Final = 100


class Write:
    """One request that stores an object. Subclasses override the steps that differ."""

    __slots__ = (
        "created",
        "ctx",
        "entry",
        "extra_ops",
        "is_decoded",
        "is_name_generated",
        "is_prepared",
        "may_create",
        "name",
        "new",
        "objects",
        "old",
        "subresource",
        "uid",
    )

    def __init__(
        self,
        objects: ObjectStore | None,
        ctx: RequestContext,
        name: str,
        *,
        subresource: str = "",
        uid: str = "",
        may_create: bool | None = None,
    ) -> None:
        """``uid``: precondition. ``may_create``: an update of a missing object creates it; None: by the strategy."""
        if objects is not None:  # reviews are stored nowhere
            self.objects: ObjectStore = objects
        self.ctx: Final = ctx
        #: Name in the path; empty for a create.
        self.name: Final = name
        self.subresource: Final = subresource
        self.uid = uid
        self.may_create: Final = may_create
        #: The object to store, as far as the steps have run.
        self.new: Tree = {}
        #: The stored object in the storage version, which no step may change; None for a create.
        self.old: Tree | None = None
        #: The entry of ``old``.
        self.entry: Entry | None = None
        #: Operations on other keys that join the transaction: the allocations of ``new``.
        self.extra_ops: Sequence[Op] = ()
        #: ``decode`` to ``default`` have run already.
        self.is_decoded = False
        #: ``prepare`` has succeeded.
        self.is_prepared = False
        #: The name was generated from ``generateName``.
        self.is_name_generated = False
        #: An object was created.
        self.created = False

    # -- synchronous steps from the body to the storage version --------------------------------------------------------

    def decode(self) -> None:
        """Set ``new``. Raises 400, 404, 409, 422."""

    def match_path(self) -> None:
        """Set name and namespace to those of the path. Raises 400."""

    def default(self) -> None:
        """Set defaults."""

    def manage_fields(self) -> None:
        """Update ``metadata.managedFields``."""

    def convert(self) -> None:
        """Convert ``new`` to the storage version."""

    # -- mutating admission --------------------------------------------------------------------------------------------

    def mutate(self) -> Awaitable[None] | None:
        """Run mutating admission; return an awaitable if a plugin waits. Raises the error of a plugin that rejects."""
        return None

    def after_mutation(self) -> None:
        """Repair metadata after mutating admission."""

    # -- preparation and validation ------------------------------------------------------------------------------------

    def identify(self) -> None:
        """Set uid, creation time and name of a new object, or the stored resourceVersion of a change. Raises 409, 422."""
        if self.entry is None:
            if self.name:
                resource_version_of(self.new["metadata"])
                self.new["metadata"].pop("selfLink", None)  # the other system fields are dropped in a POST only
            self.is_name_generated = self.objects.identify(self.ctx, self.new)
        else:
            self.objects.match_version(self.ctx, self.name, self.new["metadata"], self.entry.revision)

    def prepare(self) -> None:
        """Set system fields and apply the strategy's ``prepare_for_*``. Raises 400."""
        if self.old is None:
            self.objects.prepare_create(self.ctx, self.new)
        else:
            self.objects.prepare_update(self.ctx, self.new, self.old, self.subresource)

    def validate(self) -> None:
        """Validate the object and normalize it to its stored form. Raises 422."""
        if self.old is None:
            self.objects.validate_create(self.ctx, self.new)
        else:
            self.objects.validate_update(self.ctx, self.new, self.old, self.subresource)

    async def check_allocations(self) -> None:
        """Raise the error of an allocation that an invalid object requests, which precedes validation errors.

        Internal errors are ignored, because the invalid object can cause them, e.g. by a node port that it requests twice.
        """
        if self.is_prepared and not self.subresource:
            try:
                await self.objects.strategy.check_allocations(self.ctx, self.new, self.old)
            except StatusError as refusal:
                if refusal.code < 500:
                    raise

    # -- allocation, validating admission and the transaction ----------------------------------------------------------

    async def allocate(self) -> None:
        """Allocate the values that ``new`` takes from other keys. Raises the strategy's errors."""
        self.extra_ops = await self.objects.allocate(self.ctx, self.new, self.old)

    def admit(self) -> Awaitable[None] | None:
        """Run validating admission; return an awaitable if a plugin waits. Raises the error of a plugin that rejects."""
        return None

    def commit(self) -> Awaitable[Entry]:
        """Store the object. Raises ``Conflict`` if another writer was first."""
        if self.old is None or self.entry is None:
            if not self.name and not self.ctx.dry_run:
                _refuse_version(self.new["metadata"])
            self.created = True
            return self.objects.insert(self.ctx, self.new, self.extra_ops)
        return self.objects.replace(self.ctx, self.new, self.old, self.entry, self.extra_ops)


# -- groups of synchronous steps -----------------------------------------------------------------------------------------


def _decode(write: Write) -> None:
    write.decode()
    write.match_path()
    write.default()
    write.is_decoded = True


def decode_and_convert(write: Write) -> None:
    if not write.is_decoded:
        _decode(write)
    write.is_decoded = False  # the next steps change the tree, so that another attempt must decode again
    write.manage_fields()
    write.convert()


def prepare_and_validate(write: Write) -> None:
    write.is_prepared = False
    write.prepare()
    write.is_prepared = True
    write.validate()


# -- running the steps ---------------------------------------------------------------------------------------------------


async def decode_body(write: Write) -> None:
    """Run the steps up to ``default`` ahead of the others, which do not repeat them in their first attempt."""
    if write.ctx.is_large:
        await in_worker(_decode, write)
    else:
        _decode(write)


async def read(write: Write) -> None:
    """Run the steps from ``decode`` to ``after_mutation``."""
    if write.ctx.is_large:
        await _decode_and_wait(write)
    else:
        try:
            decode_and_convert(write)
        except PendingConversionError as pending:
            await _decode_and_wait(write, pending)
    waiting = write.mutate()
    if waiting is not None:
        await waiting
    if write.ctx.is_large:
        await in_worker(write.after_mutation)
    else:
        write.after_mutation()


async def _decode_and_wait(write: Write, pending: PendingConversionError | None = None) -> None:
    """Run the steps up to ``convert``, from ``decode`` on again after each conversion that they wait for. Raises 500.

    ``pending`` is the conversion that an earlier run waits for.
    """
    for _ in range(_CONVERSIONS_MAX):
        if pending is not None:
            await pending.resolve()
        try:
            if write.ctx.is_large:
                await in_worker(decode_and_convert, write)
            else:
                decode_and_convert(write)
        except PendingConversionError as another:
            pending = another
        else:
            return
    raise plain_error(f"{write.ctx.group_resource} needs more than {_CONVERSIONS_MAX} conversions for one write")


async def admit(write: Write) -> None:
    """Run validating admission."""
    try:
        waiting = write.admit()
    except PendingDecisionError:  # before the first plugin
        waiting = await with_decisions(write.admit)
    if waiting is not None:
        await waiting


async def attempt(write: Write) -> Entry:
    """Run all steps on the stored object ``write.old``. Raises ``Conflict`` when another writer has replaced that."""
    await read(write)
    write.identify()
    run = write.objects.runner(is_large=write.ctx.is_large)
    try:
        try:
            if run is None:
                prepare_and_validate(write)
            else:
                await run(prepare_and_validate, write)
        except PendingDecisionError as pending:
            await _validate_with_decisions(write, pending)
    except StatusError:
        await write.check_allocations()
        raise
    if write.objects.has_extra_ops:
        return await _allocate_and_commit(write)
    try:
        waiting = write.admit()
    except PendingDecisionError:  # before the first plugin
        waiting = await with_decisions(write.admit)
    if waiting is not None:
        await waiting
    return await write.commit()


async def _validate_with_decisions(write: Write, pending: PendingDecisionError) -> None:
    """Prepare and validate again after each decision of the authorizer that validation waits for.

    Both steps can be repeated on their own result, as they are in a worker.
    """
    run = write.objects.runner(is_large=write.ctx.is_large)
    decisions: dict[Hashable, Decision] = {}
    while True:
        await pending.resolve(decisions)
        try:
            if run is None:
                call_with(decisions, prepare_and_validate, write)
            else:
                await run(call_with, decisions, prepare_and_validate, write)
        except PendingDecisionError as another:
            pending = another
        else:
            return


async def _allocate_and_commit(write: Write) -> Entry:
    """Run the steps from ``allocate`` on; all of them again when another writer has taken one of the allocations."""
    objects, prepared = write.objects, write.new
    key = objects.cache.key(write.ctx.namespace, prepared["metadata"]["name"])
    for _ in range(ATTEMPTS_MAX):
        write.new = await in_worker(copy_tree, prepared) if write.ctx.is_large else copy_tree(prepared)
        await write.allocate()
        await admit(write)
        try:
            return await write.commit()
        except Conflict as lost:
            if lost.key == key:
                raise
    raise plain_error(f"the allocations of {key} were taken by others again and again")


async def run_create(write: Write) -> Entry:
    """Store a new object. Raises 400, 403, 409, 422."""
    objects = write.objects
    if not objects.cache.is_ready:
        await objects.followed()
    try:
        return await attempt(write)
    except Conflict as lost:
        name = write.new["metadata"]["name"]
        if write.is_name_generated:
            raise generate_name_conflict(write.ctx.group_resource, name, retry_after_seconds=1) from None
        raise objects.taken(write.ctx, name, lost.current) from None


async def run_update(write: Write) -> Entry:
    """Store a changed object, or create it if that is allowed. Raises 400, 403, 404, 409, 422, 500."""
    objects, ctx = write.objects, write.ctx
    key = objects.key(ctx, write.name)
    with suppress(Conflict):
        return await _update(write, key, await objects.current(key))
    async with objects.contended(key):
        for _ in range(ATTEMPTS_MAX):
            entry = await objects.current(key)
            try:
                return await _update(write, key, entry)
            except Conflict:
                continue
    raise conflict(ctx.group_resource, write.name)


async def _update(write: Write, key: str, entry: Entry | None) -> Entry:
    """Make one attempt on ``entry``. Raises ``Conflict``."""
    ctx, name, layout = write.ctx, write.name, write.objects.layout
    write.entry, write.created = entry, False
    if entry is None:
        write.old = None
    elif ctx.is_large or len(entry.raw) > LARGE_BYTES:
        ctx.is_large = True
        write.old = await in_worker(layout.tree, entry)
    else:
        write.old = layout.tree(entry)
    if write.uid:
        actual = "" if write.old is None else write.old["metadata"].get("uid") or ""
        if actual != write.uid:
            raise uid_mismatch(ctx.group_resource, name, key=key, precondition=write.uid, actual=actual)
    if entry is None:
        may_create = write.objects.strategy.allow_create_on_update if write.may_create is None else write.may_create
        if not may_create or write.subresource:
            raise not_found(ctx.group_resource, name)
    return await attempt(write)


def _refuse_version(metadata: Tree) -> None:
    """Raise 500, as upstream, for a create with a numeric resourceVersion."""
    if sent_version(metadata):
        raise plain_error("resourceVersion should not be set on objects to be created")
