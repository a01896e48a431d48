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


def test_validate_accepts_valid_claim():
    assert texts(STRATEGY.validate(CONTEXT, CLAIM)) == []


def test_validate_update_rejects_change_of_spec():
    [fault] = texts(STRATEGY.validate_update(CONTEXT, edited(CLAIM, {"spec.devices.requests.0.name": "b"}), CLAIM))
    assert fault.startswith("spec: Invalid value: {")
    assert fault.endswith(": field is immutable")


def test_validate_update_reports_only_the_change_of_an_invalid_spec():
    bad = edited(CLAIM, {"spec.devices.requests.0.name": "A_"})
    faults = texts(STRATEGY.validate_update(CONTEXT, bad, CLAIM))
    assert [fault.partition(":")[0] for fault in faults] == ["spec"]


def test_prepare_for_create_empties_status():
    new = edited(CLAIM, {"status.allocation": {}})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert not new.get("status")


def test_prepare_for_status_update_keeps_spec_and_metadata():
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
def test_cells_show_state(edits, state):
    assert STRATEGY.cells(edited(CLAIM, edits), NOW) == ["a", state, "60s"]


RESULT = {"driver": "d.com", "pool": "p", "device": "dev-0"}


@pytest.mark.parametrize(("allocation", "error_texts"), [({"devices": {"results": [RESULT]}}, [RESULT]), (None, None)])
def test_prepare_for_status_update_drops_device_statuses_with_allocation(allocation, error_texts):
    old = edited(CLAIM, {"status": {"allocation": {"devices": {"results": [RESULT]}}, "devices": [RESULT]}})
    new = edited(old, {"status.allocation": allocation})
    STRATEGY.prepare_for_status_update(CONTEXT, new, old)
    assert new["status"].get("devices") == error_texts


def test_deallocation_requires_no_permission_of_drivers():
    old = edited(CLAIM, {"status": {"allocation": {"devices": {"results": [RESULT]}}, "devices": [RESULT]}})
    new = edited(old, {"status.allocation": None})
    ctx = RequestContext(CONTEXT.user, NOW, version="v1", verb="update")
    STRATEGY.prepare_for_status_update(ctx, new, old)
    denying, allowing = (ResourceClaimStrategy(writers=ClaimWriters(mode())) for mode in (AlwaysDeny, AlwaysAllow))
    [fault] = texts(denying.validate_status_update(ctx, new, old))
    assert fault.startswith("status: Forbidden: changing status.allocation or status.reservedFor requires ")
    assert texts(allowing.validate_status_update(ctx, new, old)) == []
