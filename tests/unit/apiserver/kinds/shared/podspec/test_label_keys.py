"""Label keys become part of selectors."""

from __future__ import annotations

import pytest

from steersman.apiserver.kinds.shared.podspec.label_keys import merge_label_keys

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LABELS = {"app": "web", "hash": "7"}


def term(**parts: object) -> dict:
    return {"labelSelector": {}, **parts}


@pytest.mark.parametrize(
    ("keys", "expressions"),
    [
        ({"matchLabelKeys": ["hash"]}, [{"key": "hash", "operator": "In", "values": ["7"]}]),
        ({"mismatchLabelKeys": ["app"]}, [{"key": "app", "operator": "NotIn", "values": ["web"]}]),
        (
            {"matchLabelKeys": ["hash"], "mismatchLabelKeys": ["app"]},
            [
                {"key": "hash", "operator": "In", "values": ["7"]},
                {"key": "app", "operator": "NotIn", "values": ["web"]},
            ],
        ),
    ],
)
@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_affinity_terms_get_the_pods_own_values(kind: str, keys: dict, expressions: list[dict]):
    required, preferred = term(**keys), term(**keys)
    spec = {"affinity": {kind: {REQUIRED: [required], PREFERRED: [{"weight": 1, "podAffinityTerm": preferred}]}}}
    merge_label_keys(spec, LABELS)
    assert required["labelSelector"] == preferred["labelSelector"] == {"matchExpressions": expressions}


def test_spread_constraints_too():
    constraint = term(matchLabelKeys=["hash"])
    merge_label_keys({"topologySpreadConstraints": [constraint]}, LABELS)
    assert constraint["labelSelector"]["matchExpressions"] == [{"key": "hash", "operator": "In", "values": ["7"]}]


def test_what_was_selected_before_comes_first():
    old = {"key": "a", "operator": "Exists"}
    constraint = {"labelSelector": {"matchExpressions": [old]}, "matchLabelKeys": ["app"]}
    merge_label_keys({"topologySpreadConstraints": [constraint]}, LABELS)
    assert [e["key"] for e in constraint["labelSelector"]["matchExpressions"]] == ["a", "app"]


def test_keys_that_the_pod_has_no_label_for_mean_nothing():
    constraint = term(matchLabelKeys=["other"])
    merge_label_keys({"topologySpreadConstraints": [constraint]}, LABELS)
    assert constraint["labelSelector"] == {}


def test_a_term_without_a_selector_stays_so():
    constraint = {"matchLabelKeys": ["app"]}
    merge_label_keys({"topologySpreadConstraints": [constraint]}, LABELS)
    assert constraint == {"matchLabelKeys": ["app"]}
