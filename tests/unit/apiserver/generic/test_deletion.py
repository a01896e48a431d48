from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.writing import CONFIG_MAPS, USER, Server

from steersman.apimachinery.errors import StatusError, conflict, not_found
from steersman.apiserver.generic.deletion import (
    AT_ONCE,
    DeletionStep,
    delete,
    delete_each,
    finalizers_after,
    is_graceful,
    plan_deletion,
)
from steersman.apiserver.generic.entry import Entry
from steersman.apiserver.generic.options import DeleteOptions
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.request import RequestContext
from steersman.asynckit.clock import FakeClock
from steersman.asynckit.slices import next_turn
from steersman.storage.store import Delete

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = FakeClock().now()
PLAIN = Strategy()


class _Orphaning(Strategy):
    default_propagation = "orphan"


class _Unsupported(Strategy):
    default_propagation = "none"


class _Graceful(Strategy):
    def grace_period_seconds(self, ctx: Any, obj: Any, requested_seconds: int | None) -> int:
        return 30 if requested_seconds is None else requested_seconds


def _plan(strategy: Strategy = PLAIN, *, options: DeleteOptions | None = None, **metadata: Any) -> Any:
    obj = {"metadata": {"name": "a", "uid": "u", **metadata}}
    ctx = RequestContext(USER, NOW)
    return plan_deletion(strategy, ctx, obj, options or DeleteOptions(), is_graceful=is_graceful(strategy))


def test_shorter_grace_period_never_moves_the_deletion_before_the_first_year():
    options = DeleteOptions(grace_period_seconds=1)
    created_terminating = {"deletionTimestamp": "0001-01-01T00:00:09Z", "deletionGracePeriodSeconds": 100}
    plan = _plan(_Graceful(), options=options, **created_terminating)
    assert plan.marked["metadata"]["deletionTimestamp"] == "0001-01-01T00:00:01Z"


class _CleanedUp(Strategy):
    delete_finalizers = ("example.com/cleanup",)


def test_first_delete_of_a_kind_with_cleanup_ignores_the_propagation_policy():
    orphan = DeleteOptions(propagation_policy="Orphan")
    for finalizers in ([], ["example.com/f"], ["foregroundDeletion"], ["example.com/cleanup"]):
        plan = _plan(_CleanedUp(), options=orphan, finalizers=finalizers)
        assert plan.step is DeletionStep.MARK
        expected = finalizers if "example.com/cleanup" in finalizers else [*finalizers, "example.com/cleanup"]
        assert plan.marked["metadata"]["finalizers"] == expected


def test_later_delete_of_a_kind_with_cleanup_follows_the_policy_and_adds_no_cleanup():
    orphan = DeleteOptions(propagation_policy="Orphan")
    terminating = {"finalizers": ["example.com/f"], "deletionTimestamp": "2020-01-01T00:00:00Z"}
    plan = _plan(_CleanedUp(), options=orphan, **terminating)
    assert plan.marked["metadata"]["finalizers"] == ["example.com/f", "orphan"]


def test_object_without_finalizers_and_grace_is_removed():
    assert _plan().step is DeletionStep.REMOVE


def test_finalizers_keep_the_object_and_increase_its_generation_once():
    plan = _plan(finalizers=["example.com/f"], generation=3)
    assert plan.step is DeletionStep.MARK
    assert plan.marked["metadata"]["generation"] == 4
    again = _plan(**plan.marked["metadata"])
    assert again.marked == plan.marked


def test_terminating_object_without_finalizers_is_removed():
    stamp = "2026-01-01T00:00:00Z"
    assert _plan(deletionTimestamp=stamp, deletionGracePeriodSeconds=0).step is DeletionStep.REMOVE


@pytest.mark.parametrize(
    ("strategy", "finalizers", "options", "expected"),
    [
        (PLAIN, [], {}, []),
        (_Orphaning(), [], {}, ["orphan"]),
        (_Orphaning(), [], {"propagation_policy": "Background"}, []),
        (_Orphaning(), ["foregroundDeletion"], {}, ["foregroundDeletion"]),
        (PLAIN, ["orphan"], {}, ["orphan"]),
        (PLAIN, ["orphan", "a/b"], {"propagation_policy": "Foreground"}, ["a/b", "foregroundDeletion"]),
        (PLAIN, ["foregroundDeletion"], {"orphan_dependents": True}, ["orphan"]),
        (PLAIN, ["foregroundDeletion"], {"orphan_dependents": False}, []),
        (_Unsupported(), ["a/b"], {"propagation_policy": "Orphan"}, ["a/b"]),
        (_Unsupported(), ["orphan", "a/b"], {}, ["a/b"]),
    ],
)
def test_finalizers_after_prefers_policy_then_finalizers_then_kind(strategy, finalizers, options, expected):
    assert finalizers_after(strategy, finalizers, DeleteOptions(**options)) == expected


def test_removed_policy_finalizer_is_stored_before_the_removal():
    plan = _plan(finalizers=["orphan"], options=DeleteOptions(propagation_policy="Background"))
    assert plan.step is DeletionStep.MARK_AND_REMOVE
    assert "finalizers" not in plan.marked["metadata"]


@given(first=st.integers(0, 100), second=st.none() | st.integers(-5, 100))
def test_grace_period_is_never_extended(first, second):
    marked = _plan(_Graceful(), options=DeleteOptions(grace_period_seconds=first)).marked["metadata"]
    plan = _plan(_Graceful(), options=DeleteOptions(grace_period_seconds=second), **marked)
    left = (plan.marked or {"metadata": marked})["metadata"]["deletionGracePeriodSeconds"]
    assert left <= first


def test_zero_grace_marks_and_removes():
    plan = _plan(_Graceful(), options=DeleteOptions(grace_period_seconds=0), generation=1)
    assert plan.step is DeletionStep.MARK_AND_REMOVE
    assert plan.marked["metadata"]["generation"] == 2


def test_plan_does_not_change_its_input():
    metadata = {"finalizers": ["orphan", "a/b"], "generation": 1}
    _plan(_Graceful(), options=DeleteOptions(propagation_policy="Foreground"), **metadata)
    assert metadata == {"finalizers": ["orphan", "a/b"], "generation": 1}


async def test_deletion_is_planned_again_after_a_lost_race():
    async with Server() as server:
        await server.make()
        objects = server.registry.stored("configmaps").objects
        first = True

        async def validate(old: Any) -> None:
            nonlocal first
            was_first, first = first, False
            await server.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["example.com/f"]} if was_first else {}})

        deleted = await delete(objects, server.context(), "a", DeleteOptions(), validate)
        assert not deleted.is_gone
        assert deleted.entry.tree()["metadata"]["finalizers"] == ["example.com/f"]


async def test_deletion_of_a_concurrently_removed_object_is_404():
    async with Server() as server:
        await server.make()
        objects = server.registry.stored("configmaps").objects

        async def validate(old: Any) -> None:
            await server.store.txn([Delete("/registry/configmaps/default/a")])

        with pytest.raises(StatusError) as caught:
            await delete(objects, server.context(), "a", DeleteOptions(), validate)
        assert caught.value.code == 404


ENTRIES = [Entry(f"/registry/configmaps/default/{number:03d}", b"", 1) for number in range(2 * AT_ONCE)]


async def test_delete_each_ignores_removed_objects():
    tried = []

    async def delete_one(entry: Entry, admitted: Callable[[], None]) -> None:
        tried.append(entry)
        admitted()
        raise not_found("configmaps", entry.name)

    await delete_each(ENTRIES, delete_one)
    assert tried == ENTRIES


async def test_delete_each_raises_a_failure_after_pending_deletions_have_ended():
    failed, ended = asyncio.Event(), []

    async def delete_one(entry: Entry, admitted: Callable[[], None]) -> None:
        admitted()
        if entry is ENTRIES[2]:
            failed.set()
            raise conflict("configmaps", entry.name)
        await failed.wait()
        ended.append(entry)

    with pytest.raises(StatusError):
        await delete_each(ENTRIES, delete_one)
    assert ended == ENTRIES[:2]


async def test_delete_each_overlaps_deletions_after_their_admission():
    admitted_entries, groups = [], [asyncio.Event(), asyncio.Event()]

    async def delete_one(entry: Entry, admitted: Callable[[], None]) -> None:
        await next_turn()
        group = groups[len(admitted_entries) // AT_ONCE]
        admitted_entries.append(entry)
        admitted()
        if len(admitted_entries) % AT_ONCE == 0:
            group.set()
        await group.wait()

    await delete_each(ENTRIES, delete_one)
    assert admitted_entries == ENTRIES
