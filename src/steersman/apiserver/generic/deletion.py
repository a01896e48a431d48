"""Deletion of objects: immediate, after a grace period, or with the removal of the last finalizer.

``plan_deletion`` is the rule (``rest.BeforeDelete`` and the finalizer rules of ``genericregistry.Store`` upstream), pure;
``delete`` carries the plan out, and plans again when another writer came first.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import StatusError, conflict, is_not_found, not_found
from steersman.apiserver.generic.entry import Entry  # noqa: TC001 — compiled code looks at a Struct's types
from steersman.apiserver.generic.options import FOREGROUND, ORPHAN
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.generic.write_pipeline import ATTEMPTS_MAX
from steersman.apiserver.generic.writing import time_text
from steersman.apiserver.workers import LARGE_BYTES, in_worker
from steersman.storage.store import Conflict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.options import DeleteOptions
    from steersman.apiserver.generic.store import ObjectStore
    from steersman.apiserver.request import RequestContext

    #: Admission of the deletion of a stored object.
    ValidateDelete = Callable[[Tree], Awaitable[None]]
    #: Deletes an entry, and calls the function when admission has allowed it.
    DeleteOne = Callable[[Entry, Callable[[], None]], Awaitable[object]]

#: Concurrent deletions: enough to share commits of the store, few enough to leave capacity for other writes.
AT_ONCE: Final = 32
ORPHAN_FINALIZER: Final = "orphan"
FOREGROUND_FINALIZER: Final = "foregroundDeletion"
#: Upper bound of the grace period in the computation of ``deletionTimestamp``, whose year ends at 9999.
_SECONDS_MAX: Final = 100 * 365 * 86400
#: A client may create an object with any deletion timestamp and grace period.
_TIME_MIN: Final = datetime(1, 1, 1, 0, 0, 1, tzinfo=UTC)
_POLICY_FINALIZERS: Final = frozenset({ORPHAN_FINALIZER, FOREGROUND_FINALIZER})


class DeletionResult(msgspec.Struct, frozen=True):
    """Outcome of a deletion."""

    #: The remaining object, or the last state of a removed one.
    entry: Entry
    #: True if it was removed (or would be, without dry run).
    is_gone: bool


class DeletionStep(Enum):
    """Next step of a deletion."""

    #: No action: the deletion is in progress and its grace period is not shortened.
    WAIT = "wait"
    #: Store the object with a deletion timestamp.
    MARK = "mark"
    #: Store the object as marked, then remove it.
    MARK_AND_REMOVE = "mark and remove"
    REMOVE = "remove"


class Plan(msgspec.Struct, frozen=True):
    """The next step, and the object as marked (None when nothing is to be stored)."""

    step: DeletionStep
    marked: Tree | None = None


def plan_deletion(
    strategy: Strategy, ctx: RequestContext, obj: Tree, options: DeleteOptions, *, is_graceful: bool
) -> Plan:
    """Return the next step of a deletion of ``obj``, which is not changed. ``is_graceful``: the kind has grace periods (pods)."""
    if strategy.deletes_in_phases:
        phased = _plan_phase(strategy, ctx, obj, options)
        if phased is not None:
            return phased
    metadata = dict(obj["metadata"])
    marked = {**obj, "metadata": metadata}
    grace_seconds = None
    if is_graceful:
        under_way = _is_under_way(metadata, options)
        if under_way:
            return Plan(DeletionStep.WAIT)
        grace_seconds = _mark_gracefully(strategy, ctx, marked, options)
    finalizers = metadata.get("finalizers") or []
    if strategy.delete_finalizers and not metadata.get("deletionTimestamp"):
        remaining = [*finalizers, *(name for name in strategy.delete_finalizers if name not in finalizers)]
    else:
        remaining = finalizers_after(strategy, finalizers, options)
    if set(remaining) != set(finalizers):
        _set_finalizers(metadata, remaining)
        finalizers = remaining
    elif not finalizers and grace_seconds is None:
        return Plan(DeletionStep.REMOVE)
    if grace_seconds is None and finalizers:
        _mark_at_once(metadata, ctx.now)
        if not obj["metadata"].get("deletionTimestamp"):
            strategy.mark_deleted(ctx, marked, obj)
    stays = bool(finalizers) or bool(grace_seconds)
    return Plan(DeletionStep.MARK if stays else DeletionStep.MARK_AND_REMOVE, marked)


def finalizers_after(strategy: Strategy, finalizers: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers after a delete request: the finalizer of its propagation policy replaces that of an earlier one.

    Kinds without policies lose it. Upstream: ``deletionFinalizersForGarbageCollection``.
    """
    remaining = [name for name in finalizers if name not in _POLICY_FINALIZERS]
    policy = "" if strategy.default_propagation == "none" else _policy(strategy, finalizers, options)
    return [*remaining, policy] if policy else remaining


def _policy(strategy: Strategy, finalizers: list[str], options: DeleteOptions) -> str:
    """Return the finalizer of the propagation policy; empty for background deletion."""
    if options.orphan_dependents is not None:
        return ORPHAN_FINALIZER if options.orphan_dependents else ""
    if options.propagation_policy:
        return {ORPHAN: ORPHAN_FINALIZER, FOREGROUND: FOREGROUND_FINALIZER}.get(options.propagation_policy, "")
    for name in finalizers:
        if name in _POLICY_FINALIZERS:
            return name
    return ORPHAN_FINALIZER if strategy.default_propagation == "orphan" else ""


def _set_finalizers(metadata: Tree, finalizers: list[str]) -> None:
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


def _mark_at_once(metadata: Tree, now: datetime) -> None:
    """Set the deletion timestamp to now, without grace."""
    if not metadata.get("deletionTimestamp"):
        _grow(metadata)
    text = time_text(now)
    if not metadata.get("deletionTimestamp") or metadata["deletionTimestamp"] > text:
        metadata["deletionTimestamp"] = text
    metadata["deletionGracePeriodSeconds"] = 0


def _grow(metadata: Tree) -> None:
    if metadata.get("generation"):
        metadata["generation"] += 1


def _requested(options: DeleteOptions) -> int | None:
    """Return the requested grace period; a negative one counts as one second."""
    seconds = options.grace_period_seconds
    return 1 if seconds is not None and seconds < 0 else seconds


def _is_under_way(metadata: Tree, options: DeleteOptions) -> bool:
    """Report whether a graceful deletion is running that the request does not shorten."""
    if not metadata.get("deletionTimestamp"):
        return False
    grace_seconds = _grace_seconds(metadata)
    requested = _requested(options)
    return bool(grace_seconds) and (requested is None or requested >= grace_seconds)


def _grace_seconds(metadata: Tree) -> int:
    seconds: int = metadata.get("deletionGracePeriodSeconds") or 0
    return 1 if seconds < 0 else seconds


def _mark_gracefully(strategy: Strategy, ctx: RequestContext, marked: Tree, options: DeleteOptions) -> int | None:
    """Set time and grace of the deletion; None when the grace period of a running one is over already."""
    metadata = marked["metadata"]
    requested = _requested(options)
    if metadata.get("deletionTimestamp"):
        grace_seconds = _grace_seconds(metadata)
        if not grace_seconds:
            return None
        seconds = requested or 0  # shorter than what is left, or it would be under way
        by = timedelta(seconds=min(grace_seconds, _SECONDS_MAX) - min(seconds, _SECONDS_MAX))
        earlier = max(_parse_time(metadata["deletionTimestamp"]), _TIME_MIN + by) - by
        metadata["deletionTimestamp"] = time_text(earlier)
        metadata["deletionGracePeriodSeconds"] = seconds
        return seconds
    seconds = strategy.grace_period_seconds(ctx, marked, requested)
    metadata["deletionTimestamp"] = time_text(ctx.now + timedelta(seconds=min(seconds, _SECONDS_MAX)))
    metadata["deletionGracePeriodSeconds"] = seconds
    _grow(metadata)
    return seconds


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _plan_phase(strategy: Strategy, ctx: RequestContext, obj: Tree, options: DeleteOptions) -> Plan | None:
    """Return the first phase of a deletion in phases: the object is marked as terminating; None once its finalizers are gone."""
    if not obj["metadata"].get("deletionTimestamp"):
        metadata = {**obj["metadata"], "deletionTimestamp": time_text(ctx.now)}
        _set_finalizers(metadata, finalizers_after(strategy, metadata.get("finalizers") or [], options))
        marked = {**obj, "metadata": metadata}
        strategy.mark_terminating(marked)
        return Plan(DeletionStep.MARK, marked)
    return None if strategy.is_finalized(obj) else Plan(DeletionStep.WAIT)


async def delete(
    objects: ObjectStore,
    ctx: RequestContext,
    name: str,
    options: DeleteOptions,
    validate: ValidateDelete | None = None,
) -> DeletionResult:
    """Delete an object, or mark it as terminating. Raises 400, 403, 404, 409 and the errors of admission."""
    key = objects.key(ctx, name)
    entry = await objects.current(key)
    #: After the first step of two the client's version is no longer the object's, by our own doing.
    marked_by_us = False
    for _ in range(ATTEMPTS_MAX):
        if entry is None:
            raise not_found(ctx.group_resource, name)
        ctx.is_large = len(entry.raw) > LARGE_BYTES
        obj = await _tree_of(objects, entry)
        check_preconditions(objects, obj, name, options, any_version=marked_by_us)
        objects.strategy.check_graceful_delete(ctx, obj)
        plan = plan_deletion(objects.strategy, ctx, obj, options, is_graceful=is_graceful(objects.strategy))
        if plan.step is DeletionStep.WAIT:
            return DeletionResult(entry, is_gone=False)
        if validate is not None and not marked_by_us:
            await validate(obj)
        try:
            if plan.marked is not None:
                entry = await objects.put(ctx, key, plan.marked, entry)
                if plan.step is DeletionStep.MARK:
                    return DeletionResult(entry, is_gone=False)
                marked_by_us = True
            return await _remove(objects, ctx, key, entry)
        except Conflict as lost:
            if lost.current is None and marked_by_us:
                return DeletionResult(entry, is_gone=True)
            entry = await objects.entry_from(lost.current)
    raise conflict(ctx.group_resource, name)


async def _remove(objects: ObjectStore, ctx: RequestContext, key: str, entry: Entry) -> DeletionResult:
    if ctx.dry_run:
        return DeletionResult(entry, is_gone=True)
    revision = await objects.delete(ctx, key, await _tree_of(objects, entry), expected=entry.revision)
    return DeletionResult(entry.at(revision), is_gone=True)


async def _tree_of(objects: ObjectStore, entry: Entry) -> Tree:
    if len(entry.raw) > LARGE_BYTES:
        return await in_worker(objects.layout.tree, entry)
    return objects.layout.tree(entry)


async def delete_each(entries: Sequence[Entry], delete_one: DeleteOne) -> None:
    """Delete entries in order, as upstream's one worker does, but with overlapping commits.

    Admission decides on one entry after the other. After an error no other entry is tried, and it is raised when the pending
    deletions have ended. Removed objects are skipped.
    """
    loop = asyncio.get_running_loop()
    places = asyncio.Semaphore(AT_ONCE)
    errors: list[Exception] = []

    async def run(entry: Entry, admitted: asyncio.Future[None]) -> None:
        try:
            await delete_one(entry, partial(_resolve, admitted))
        except Exception as error:  # noqa: BLE001 — raised when the others have ended
            if not is_not_found(error):
                errors.append(error)
        finally:
            _resolve(admitted)
            places.release()

    async with asyncio.TaskGroup() as group:
        for entry in entries:
            await places.acquire()
            if errors:
                break
            admitted: asyncio.Future[None] = loop.create_future()
            group.create_task(run(entry, admitted))
            await admitted
    if errors:
        raise errors[0]


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def is_graceful(strategy: Strategy) -> bool:
    """Report whether deletions of the kind have grace periods."""
    return type(strategy).grace_period_seconds is not Strategy.grace_period_seconds


def check_preconditions(
    objects: ObjectStore, obj: Tree, name: str, options: DeleteOptions, *, any_version: bool = False
) -> None:
    """Raise 409 if UID or resourceVersion of the preconditions differ."""
    metadata = obj["metadata"]
    if objects.strategy.checks_preconditions_itself and not any_version:
        _check_first(objects.strategy.group_resource, metadata, name, options)
    precondition = options.precondition_uid
    if precondition is not None and precondition != metadata.get("uid"):
        raise _unmet(
            objects,
            name,
            f"the UID in the precondition ({precondition}) does not match the UID in record ({metadata.get('uid')})."
            " The object might have been deleted and then recreated",
        )
    precondition = options.precondition_resource_version
    if precondition is not None and precondition != metadata["resourceVersion"] and not any_version:
        raise _unmet(
            objects,
            name,
            f"the ResourceVersion in the precondition ({precondition}) does not match the ResourceVersion in record"
            f" ({metadata['resourceVersion']}). The object might have been modified",
        )


def _check_first(group_resource: str, metadata: Tree, name: str, options: DeleteOptions) -> None:
    for field, text, precondition in (
        ("uid", "UID", options.precondition_uid),
        ("resourceVersion", "ResourceVersion", options.precondition_resource_version),
    ):
        if precondition is not None and precondition != metadata.get(field):
            reason = f"Precondition failed: {text} in precondition: {precondition}, {text} in object meta: {metadata.get(field)}"
            raise conflict(group_resource, name, reason)


def _unmet(objects: ObjectStore, name: str, reason: str) -> StatusError:
    return conflict(objects.group_kind, name, reason)
