from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.coordination.lease.strategy import LeaseStrategy

STRATEGY = LeaseStrategy()
LEASE = named(spec={"holderIdentity": "h", "leaseDurationSeconds": 15})


def test_update_requires_resource_version():
    assert STRATEGY.allow_unconditional_update is False


def test_put_to_missing_name_creates():
    assert STRATEGY.allow_create_on_update is True


def test_validate_and_validate_update_apply_same_rules():
    bad = edited(LEASE, {"spec.leaseDurationSeconds": 0})
    fault = "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
    assert texts(STRATEGY.validate(CONTEXT, bad)) == [fault]
    assert texts(STRATEGY.validate_update(CONTEXT, bad, LEASE)) == [fault]


COORDINATED = {"strategy": "OldestEmulationVersion", "preferredHolder": "p"}


def test_coordination_is_stored():
    lease = edited(LEASE, {"spec.strategy": "OldestEmulationVersion"})
    STRATEGY.prepare_for_create(CONTEXT, lease)
    assert lease["spec"]["strategy"] == "OldestEmulationVersion"


def test_coordination_is_dropped_without_the_feature_unless_it_was_set():
    plain = LeaseStrategy(has_coordination=False)
    lease = named(spec={"holderIdentity": "h", **COORDINATED})
    plain.prepare_for_create(CONTEXT, lease)
    assert lease["spec"] == {"holderIdentity": "h"}
    update = named(spec={"holderIdentity": "i", **COORDINATED})
    plain.prepare_for_update(CONTEXT, update, lease)
    assert update["spec"] == {"holderIdentity": "i"}
    old = named(spec={"strategy": "OldestEmulationVersion"})
    update = named(spec=dict(COORDINATED))
    plain.prepare_for_update(CONTEXT, update, old)
    assert update["spec"] == {"strategy": "OldestEmulationVersion"}


@pytest.mark.parametrize(("spec", "holder"), [({"holderIdentity": "h"}, "h"), ({}, "")])
def test_cells_show_holder(spec, holder):
    assert STRATEGY.cells(named(spec=spec), NOW) == ["a", holder, "60s"]
