from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, SELECTOR, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.apps.deployment.strategy import DeploymentStrategy

STRATEGY = DeploymentStrategy()


def deployment(**spec: object) -> dict:
    return defaulted(STRATEGY, named(spec={"selector": SELECTOR, "template": pod_template(), **spec}))


def test_default_sets_omitted_fields():
    spec = deployment()["spec"]
    assert {k: v for k, v in spec.items() if k not in ("selector", "template")} == {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
    }


def test_default_sets_no_rolling_update_for_recreate():
    assert deployment(strategy={"type": "Recreate"})["spec"]["strategy"] == {"type": "Recreate"}


def test_default_keeps_zero_replicas():
    assert deployment(replicas=0)["spec"]["replicas"] == 0


def test_default_completes_partial_rolling_update():
    spec = deployment(strategy={"rollingUpdate": {"maxSurge": 2}})["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": 2}


def test_default_sets_pod_defaults_of_template():
    assert deployment()["spec"]["template"]["spec"]["restartPolicy"] == "Always"


@pytest.mark.parametrize(
    "edits", [{"spec.replicas": 3}, {"metadata.annotations": {"a": "b"}}, {"spec.template.metadata.labels": {}}]
)
def test_generation_view_follows_spec_and_annotations(edits):
    assert STRATEGY.generation_view(edited(deployment(), edits)) != STRATEGY.generation_view(deployment())


@pytest.mark.parametrize("edits", [{"metadata.labels": {"a": "b"}}, {"status.replicas": 3}])
def test_generation_view_ignores_labels_and_status(edits):
    assert STRATEGY.generation_view(edited(deployment(), edits)) == STRATEGY.generation_view(deployment())


def test_prepare_for_status_update_keeps_spec_and_labels_but_not_annotations():
    old = edited(deployment(), {"metadata.labels": {"old": "1"}, "metadata.annotations": {"old": "1"}})
    new = edited(
        old,
        {
            "metadata.labels": {"new": "1"},
            "metadata.annotations": {"new": "1"},
            "spec.replicas": 9,
            "status.replicas": 2,
        },
    )
    STRATEGY.prepare_for_status_update(CONTEXT, new, old)
    assert (new["spec"], new["status"]) == (old["spec"], {"replicas": 2})
    assert (new["metadata"]["labels"], new["metadata"]["annotations"]) == ({"old": "1"}, {"new": "1"})


def test_prepare_for_status_update_adds_no_labels():
    new = edited(deployment(), {"metadata.labels": {"new": "1"}})
    STRATEGY.prepare_for_status_update(CONTEXT, new, deployment())
    assert "labels" not in new["metadata"]


ROLLBACK = "deprecated.deployment.rollback.to"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, {ROLLBACK: "1"}, None),
        (None, {ROLLBACK: "1", "a": "b"}, {"a": "b"}),
        (None, {ROLLBACK: ""}, {ROLLBACK: ""}),
        ({ROLLBACK: "2"}, {ROLLBACK: "1", "a": "b"}, {ROLLBACK: "2", "a": "b"}),
        ({ROLLBACK: "2"}, None, {ROLLBACK: "2"}),
        ({ROLLBACK: ""}, {"a": "b"}, {"a": "b"}),
    ],
)
def test_prepare_for_status_update_keeps_requested_rollback(old, new, expected):
    stored, written = deployment(), deployment()
    if old is not None:
        stored["metadata"]["annotations"] = old
    if new is not None:
        written["metadata"]["annotations"] = new
    STRATEGY.prepare_for_status_update(CONTEXT, written, stored)
    assert written["metadata"].get("annotations") == expected


def test_prepare_for_update_keeps_status():
    old = {**deployment(), "status": {"replicas": 1}}
    new = {**deployment(), "status": {"replicas": 7}}
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["status"] == {"replicas": 1}


def test_warnings_about_name_that_is_no_dns_label_on_create_only():
    dotted = edited(deployment(), {"metadata.name": "a.b"})
    [warning] = STRATEGY.warnings(CONTEXT, dotted, None)
    assert warning.startswith("metadata.name: this is used in Pod names and hostnames, which can result in surprising")
    assert list(STRATEGY.warnings(CONTEXT, dotted, dotted)) == []


def test_cells_show_ready_of_desired_replicas():
    status = {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}
    row = STRATEGY.cells({**deployment(replicas=3), "status": status}, NOW)
    assert row == ["a", "1/3", 2, 1, "60s", "c", "i", "app=a"]
