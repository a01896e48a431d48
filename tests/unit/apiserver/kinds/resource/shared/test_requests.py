from __future__ import annotations

import pytest

from steersman.apiserver.kinds.resource.shared.requests import default_claim_spec


@pytest.mark.parametrize(
    ("request_", "filled"),
    [
        ({}, {"allocationMode": "ExactCount", "count": 1}),
        ({"count": 3}, {"allocationMode": "ExactCount", "count": 3}),
        ({"allocationMode": "All"}, {"allocationMode": "All"}),
        (
            {"allocationMode": "All", "tolerations": [{"key": "a"}, {"operator": "Exists"}]},
            {"allocationMode": "All", "tolerations": [{"key": "a", "operator": "Equal"}, {"operator": "Exists"}]},
        ),
    ],
)
def test_default_claim_spec_sets_exact_count_1(request_, filled):
    spec = {"devices": {"requests": [{"name": "a", "exactly": request_}]}}
    default_claim_spec(spec)
    assert spec["devices"]["requests"] == [{"name": "a", "exactly": filled}]


def test_default_claim_spec_sets_count_of_alternatives():
    spec = {"devices": {"requests": [{"name": "a", "firstAvailable": [{"name": "b"}]}]}}
    default_claim_spec(spec)
    [alternative] = spec["devices"]["requests"][0]["firstAvailable"]
    assert alternative == {"name": "b", "allocationMode": "ExactCount", "count": 1}


def test_default_claim_spec_changes_nothing_without_requests():
    spec: dict = {}
    default_claim_spec(spec)
    default_claim_spec(None)
    assert spec == {}
