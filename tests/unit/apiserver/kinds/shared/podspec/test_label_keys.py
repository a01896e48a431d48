"""Merging of label keys into selectors."""

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
def test_merge_label_keys_merges_into_affinity_terms(kind: str, keys: dict, expressions: list[dict]):
    required, preferred = term(**keys), term(**keys)
    spec = {"affinity": {kind: {REQUIRED: [required], PREFERRED: [{"weight": 1, "podAffinityTerm": preferred}]}}}
    merge_label_keys(spec, LABELS)
    assert required["labelSelector"] == preferred["labelSelector"] == {"matchExpressions": expressions}


def test_merge_label_keys_merges_into_spread_constraints():
    constraint = term(matchLabelKeys=["hash"])
    merge_label_keys({"topologySpreadConstraints": [constraint]}, LABELS)
    assert constraint["labelSelector"]["matchExpressions"] == [{"key": "hash", "operator": "In", "values": ["7"]}]


def test_merge_label_keys_appends_to_existing_expressions():
    old = {"key": "a", "operator": "Exists"}
    constraint = {"labelSelector": {"matchExpressions": [old]}, "matchLabelKeys": ["app"]}
    merge_label_keys({"topologySpreadConstraints": [constraint]}, LABELS)
    assert [e["key"] for e in constraint["labelSelector"]["matchExpressions"]] == ["a", "app"]


def test_merge_label_keys_skips_keys_without_label():
    constraint = term(matchLabelKeys=["other"])
    merge_label_keys({"topologySpreadConstraints": [constraint]}, LABELS)
    assert constraint["labelSelector"] == {}


def test_merge_label_keys_keeps_terms_without_selector():
    constraint = {"matchLabelKeys": ["app"]}
    merge_label_keys({"topologySpreadConstraints": [constraint]}, LABELS)
    assert constraint == {"matchLabelKeys": ["app"]}
