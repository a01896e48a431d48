from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import SELECTOR, pod_template, texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.template_selectors import (
    check_always_restarts,
    check_labels_match,
    check_selector,
    check_selector_unchanged,
    is_empty,
    parse_selector,
    shown,
)

BAD = {"matchExpressions": [{"key": "a", "operator": "Like"}]}


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        (SELECTOR, {"app": "a"}, True),
        (SELECTOR, {"app": "b"}, False),
        ({}, {"app": "b"}, True),
        (None, {"app": "b"}, False),
    ],
)
def test_parse_selector_absent_matches_nothing_and_empty_everything(selector, labels, matches):
    assert parse_selector(selector).matches(labels) is matches


def test_parse_selector_returns_none_for_invalid_selector():
    assert parse_selector(BAD) is None


@pytest.mark.parametrize(
    ("selector", "empty"), [({}, True), ({"matchLabels": {}, "matchExpressions": []}, True), (SELECTOR, False)]
)
def test_is_empty_for_selector_without_requirements(selector, empty):
    assert is_empty(selector) is empty


def test_shown_sorts_labels():
    assert list(shown({"matchLabels": {"b": "1", "a": "2"}})["matchLabels"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ({"selector": SELECTOR}, []),
        ({}, ["spec.selector: Required value"]),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: nothing"]),
        (
            {"selector": BAD},
            ['spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator'],
        ),
    ],
)
def test_check_selector_requires_non_empty_selector(spec, faults):
    assert texts(check_selector(spec, Path("spec"), empty_detail="nothing")) == faults


def test_check_labels_match_requires_matching_template():
    template = {"metadata": {"labels": {"b": "2", "a": "1"}}}
    assert texts(check_labels_match(template, parse_selector(SELECTOR), Path("template"))) == [
        'template.metadata.labels: Invalid value: {"a":"1","b":"2"}: `selector` does not match template `labels`'
    ]


def test_check_selector_unchanged_ignores_order_of_labels():
    one, two = ({"spec": {"selector": {"matchLabels": dict(labels)}}} for labels in (["ab", "cd"], ["cd", "ab"]))
    assert texts(check_selector_unchanged(one, two)) == []


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ({"restartPolicy": "Always"}, []),
        ({}, ['t.spec.restartPolicy: Unsupported value: "": supported values: "Always"']),
        (
            {"restartPolicy": "Always", "activeDeadlineSeconds": 1},
            ["t.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in Thing is not Supported"],
        ),
    ],
)
def test_check_always_restarts_requires_restart_policy_always(spec, faults):
    assert texts(check_always_restarts(pod_template(**spec), Path("t"), kind="Thing")) == faults
