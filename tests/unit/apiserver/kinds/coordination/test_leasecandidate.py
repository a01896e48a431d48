from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.coordination.leasecandidate import LeaseCandidateStrategy

STRATEGY = LeaseCandidateStrategy()
CANDIDATE = named(
    spec={
        "leaseName": "l",
        "binaryVersion": "1.36.0",
        "emulationVersion": "1.35.0",
        "strategy": "OldestEmulationVersion",
    }
)


def test_validate_update_rejects_change_of_lease_name():
    assert texts(STRATEGY.validate_update(CONTEXT, edited(CANDIDATE, {"spec.leaseName": "m"}), CANDIDATE)) == [
        'spec.leaseName: Invalid value: "m": field is immutable'
    ]


def test_validate_update_accepts_change_of_versions():
    assert (
        texts(STRATEGY.validate_update(CONTEXT, edited(CANDIDATE, {"spec.binaryVersion": "1.37.0"}), CANDIDATE)) == []
    )


@pytest.mark.parametrize(("name", "is_fine"), [("A_b.c", True), ("a-", True), ("a/b", False), ("..", False)])
def test_name_errors_apply_config_map_key_rules(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine


def test_cells_show_lease_and_versions():
    assert STRATEGY.cells(CANDIDATE, NOW) == ["a", "l", "1.36.0", "1.35.0", "60s"]
