from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, SELECTOR, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.apps.daemonset.strategy import TEMPLATE_GENERATION, DaemonSetStrategy

STRATEGY = DaemonSetStrategy()
SET = defaulted(STRATEGY, named(spec={"selector": SELECTOR, "template": pod_template()}))


def test_default_sets_omitted_fields():
    spec = SET["spec"]
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    assert spec["revisionHistoryLimit"] == 10


def test_default_sets_no_rolling_update_for_on_delete():
    spec = defaulted(STRATEGY, named(spec={"updateStrategy": {"type": "OnDelete"}}))["spec"]
    assert spec["updateStrategy"] == {"type": "OnDelete"}


@pytest.mark.parametrize(("value", "expected"), [("0", "1"), ("5", "5"), ("+7", "7"), ("-2", "1"), ("x", "1")])
def test_prepare_for_create_keeps_positive_template_generation_or_sets_1(value, expected):
    new = edited(SET, {"metadata.annotations": {TEMPLATE_GENERATION: value}})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["metadata"]["annotations"][TEMPLATE_GENERATION] == expected


@pytest.mark.parametrize(
    ("edits", "counted"), [({}, "3"), ({"spec.minReadySeconds": 5}, "3"), ({"spec.template.metadata.labels": {}}, "4")]
)
def test_prepare_for_update_bumps_template_generation_on_template_change_only(edits, counted):
    old = edited(SET, {"metadata.annotations": {TEMPLATE_GENERATION: "3"}})
    new = edited(SET, edits)
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["metadata"]["annotations"][TEMPLATE_GENERATION] == counted


def test_prepare_for_status_update_keeps_the_template_generation():
    old = edited(SET, {"metadata.annotations": {TEMPLATE_GENERATION: "3"}})
    new = edited(old, {"metadata.annotations": {TEMPLATE_GENERATION: "9", "a": "b"}})
    STRATEGY.prepare_for_status_update(CONTEXT, new, old)
    assert new["metadata"]["annotations"] == {TEMPLATE_GENERATION: "3", "a": "b"}


def test_warnings_on_update_only_if_template_changes():
    old = edited(
        SET,
        {
            "spec.template.spec.nodeSelector": {"beta.kubernetes.io/os": "linux"},
            "metadata.generation": 1,
            "metadata.annotations": {TEMPLATE_GENERATION: "1"},
        },
    )
    changed = edited(old, {"metadata.generation": 2})
    assert list(STRATEGY.warnings(CONTEXT, changed, old)) == []
    [warning] = STRATEGY.warnings(CONTEXT, edited(changed, {"metadata.annotations": {TEMPLATE_GENERATION: "2"}}), old)
    assert warning.startswith("spec.template.spec.nodeSelector[beta.kubernetes.io/os]: ")


def test_prepare_for_status_update_keeps_spec():
    new = edited(SET, {"spec.minReadySeconds": 5, "status.numberReady": 1})
    STRATEGY.prepare_for_status_update(CONTEXT, new, SET)
    assert (new["spec"], new["status"]) == (SET["spec"], {"numberReady": 1})


def test_cells_show_node_selector_and_counts():
    status = {
        "desiredNumberScheduled": 5,
        "currentNumberScheduled": 4,
        "numberReady": 3,
        "updatedNumberScheduled": 2,
        "numberAvailable": 1,
    }
    shown = edited({**SET, "status": status}, {"spec.template.spec.nodeSelector": {"disk": "ssd"}})
    assert STRATEGY.cells(shown, NOW) == ["a", 5, 4, 3, 2, 1, "disk=ssd", "60s", "c", "i", "app=a"]
