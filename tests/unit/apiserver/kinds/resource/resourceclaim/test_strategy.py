from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named, texts

from steersman.apiserver.authz.claim_writers import ClaimWriters
from steersman.apiserver.authz.modes import AlwaysAllow, AlwaysDeny
from steersman.apiserver.kinds.resource.resourceclaim.strategy import ResourceClaimStrategy
from steersman.apiserver.request import RequestContext

STRATEGY = ResourceClaimStrategy()
REQUESTS = [{"name": "gpu", "exactly": {"deviceClassName": "gpus"}}]
CLAIM = defaulted(STRATEGY, named(spec={"devices": {"requests": REQUESTS}}))


def test_what_is_valid():
    assert texts(STRATEGY.validate(CONTEXT, CLAIM)) == []


def test_the_wish_never_changes():
    [fault] = texts(STRATEGY.validate_update(CONTEXT, edited(CLAIM, {"spec.devices.requests.0.name": "b"}), CLAIM))
    assert fault.startswith("spec: Invalid value: {")
    assert fault.endswith(": field is immutable")


def test_a_new_claim_is_not_allocated():
    new = edited(CLAIM, {"status.allocation": {}})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert not new.get("status")


def test_a_status_write_keeps_spec_and_metadata():
    new = edited(CLAIM, {"metadata.labels": {"a": "b"}, "spec.devices": {}, "status.allocation": {}})
    STRATEGY.prepare_for_status_update(CONTEXT, new, CLAIM)
    assert new == {**CLAIM, "status": {"allocation": {}}}


@pytest.mark.parametrize(
    ("edits", "state"),
    [
        ({}, "pending"),
        ({"status.allocation": {}}, "allocated"),
        ({"status": {"allocation": {}, "reservedFor": [{}]}}, "allocated,reserved"),
        ({"metadata.deletionTimestamp": "2026-01-01T00:00:30Z"}, "deleted"),
        ({"metadata.deletionTimestamp": "2026-01-01T00:00:30Z", "status.allocation": {}}, "deleted,allocated"),
    ],
)
def test_the_row_shows_how_far_a_claim_is(edits, state):
    assert STRATEGY.cells(edited(CLAIM, edits), NOW) == ["a", state, "60s"]


RESULT = {"driver": "d.com", "pool": "p", "device": "dev-0"}


@pytest.mark.parametrize(("allocation", "told"), [({"devices": {"results": [RESULT]}}, [RESULT]), (None, None)])
def test_what_drivers_said_of_devices_goes_with_their_allocation(allocation, told):
    old = edited(CLAIM, {"status": {"allocation": {"devices": {"results": [RESULT]}}, "devices": [RESULT]}})
    new = edited(old, {"status.allocation": allocation})
    STRATEGY.prepare_for_status_update(CONTEXT, new, old)
    assert new["status"].get("devices") == told


def test_who_takes_an_allocation_away_needs_no_right_of_its_drivers():
    old = edited(CLAIM, {"status": {"allocation": {"devices": {"results": [RESULT]}}, "devices": [RESULT]}})
    new = edited(old, {"status.allocation": None})
    ctx = RequestContext(CONTEXT.user, NOW, version="v1", verb="update")
    STRATEGY.prepare_for_status_update(ctx, new, old)
    denying, allowing = (ResourceClaimStrategy(writers=ClaimWriters(mode())) for mode in (AlwaysDeny, AlwaysAllow))
    [fault] = texts(denying.validate_status_update(ctx, new, old))
    assert fault.startswith("status: Forbidden: changing status.allocation or status.reservedFor requires ")
    assert texts(allowing.validate_status_update(ctx, new, old)) == []
