"""Conflicts of an apply."""

from __future__ import annotations

from steersman.apimachinery.managedfields.conflicts import OwnershipError
from steersman.apimachinery.managedfields.entries import APPLY, UPDATE, owner_of

ONE = owner_of("one", APPLY, "v1", "status")
TWO = owner_of("two", UPDATE, "apps/v1", "")


def test_status_of_one_conflict_is_one_line():
    status = OwnershipError({ONE: {"f:status": {"f:replicas": {}}}}).status()
    assert (status.code, status.reason) == (409, "Conflict")
    assert status.message == (
        'Apply failed with 1 conflict: conflict with "one" with subresource "status": .status.replicas'
    )


def test_status_groups_conflicts_by_owner():
    status = OwnershipError({TWO: {"f:b": {"f:c": {}}, "f:a": {}}, ONE: {"f:a": {}}}).status()
    assert status.message == (
        'Apply failed with 3 conflicts: conflicts with "one" with subresource "status":\n- .a\n'
        'conflicts with "two" using apps/v1:\n- .a\n- .b.c'
    )
    assert status.causes[1] == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "two" using apps/v1',
        "field": ".a",
    }
