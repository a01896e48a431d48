from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, SELECTOR, edited, named, texts

from steersman.apiserver.kinds.rbac.clusterrole import ClusterRoleStrategy

STRATEGY = ClusterRoleStrategy()
ROLE = named(rules=[{"verbs": ["get"], "nonResourceURLs": ["/"]}], aggregationRule={"clusterRoleSelectors": [SELECTOR]})


def test_validate_accepts_urls():
    assert texts(STRATEGY.validate(CONTEXT, ROLE)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"rules.0.verbs": []}, "rules[0].verbs: Required value: verbs must contain at least one value"),
        (
            {"aggregationRule": {}},
            (
                "aggregationRule.clusterRoleSelectors: Required value: "
                "at least one clusterRoleSelector required if aggregationRule is non-nil"
            ),
        ),
    ],
)
def test_validate_and_validate_update_reject_invalid_fields(edits, fault):
    new = edited(ROLE, edits)
    assert texts(STRATEGY.validate(CONTEXT, new)) == [fault]
    assert texts(STRATEGY.validate_update(CONTEXT, new, ROLE)) == [fault]


def test_put_to_missing_name_creates():
    assert STRATEGY.allow_create_on_update is True
