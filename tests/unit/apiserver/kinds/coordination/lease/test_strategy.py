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


@pytest.mark.parametrize(("spec", "holder"), [({"holderIdentity": "h"}, "h"), ({}, "")])
def test_cells_show_holder(spec, holder):
    assert STRATEGY.cells(named(spec=spec), NOW) == ["a", holder, "60s"]
