from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import SELECTOR, texts

from steersman.apiserver.kinds.rbac.shared.rules import validate_aggregation, validate_rules

PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
URLS = {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}
BAD_VALUE = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not valid"]}]}


@pytest.mark.parametrize("rule", [PODS, URLS, {**PODS, "resourceNames": ["a"]}])
def test_validate_rules_accepts_resources_or_urls(rule):
    assert texts(validate_rules([rule], namespaced=False)) == []


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ({**PODS, "verbs": []}, "rules[0].verbs: Required value: verbs must contain at least one value"),
        (
            {**PODS, "apiGroups": []},
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        ),
        (
            {**PODS, "resources": []},
            "rules[0].resources: Required value: resource rules must supply at least one resource",
        ),
        (
            {**URLS, **PODS},
            (
                'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: '
                "rules cannot apply to both regular resources and non-resource URLs"
            ),
        ),
    ],
)
def test_validate_rules_rejects_invalid_rules(rule, fault):
    assert texts(validate_rules([rule], namespaced=False)) == [fault]


def test_validate_rules_rejects_urls_in_namespaced_roles():
    assert texts(validate_rules([URLS], namespaced=True)) == [
        'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs'
    ]


def test_validate_rules_accepts_empty_list():
    assert texts(validate_rules(None, namespaced=True)) == []


@pytest.mark.parametrize(
    ("rule", "faults"),
    [
        (None, []),
        ({"clusterRoleSelectors": [SELECTOR]}, []),
        (
            {},
            [
                (
                    "aggregationRule.clusterRoleSelectors: Required value: "
                    "at least one clusterRoleSelector required if aggregationRule is non-nil"
                )
            ],
        ),
    ],
)
def test_validate_aggregation_requires_selectors(rule, faults):
    assert texts(validate_aggregation(rule)) == faults


def test_validate_aggregation_rejects_invalid_values_of_new_selectors():
    first, *_ = texts(validate_aggregation({"clusterRoleSelectors": [BAD_VALUE]}))
    assert first.startswith(
        'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values[0]: Invalid value: "not valid": '
    )
