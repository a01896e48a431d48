from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, SELECTOR, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.apps.deployment.strategy import DeploymentStrategy

STRATEGY = DeploymentStrategy()


def deployment(**spec: object) -> dict:
    return defaulted(STRATEGY, named(spec={"selector": SELECTOR, "template": pod_template(), **spec}))


def test_what_is_left_out_is_filled_in():
    spec = deployment()["spec"]
    assert {k: v for k, v in spec.items() if k not in ("selector", "template")} == {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
    }


def test_a_deployment_that_recreates_rolls_nothing():
    assert deployment(strategy={"type": "Recreate"})["spec"]["strategy"] == {"type": "Recreate"}


def test_no_replicas_are_not_a_missing_number():
    assert deployment(replicas=0)["spec"]["replicas"] == 0


def test_half_a_rolling_update_is_completed():
    spec = deployment(strategy={"rollingUpdate": {"maxSurge": 2}})["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": 2}


def test_the_template_gets_the_defaults_of_pods():
    assert deployment()["spec"]["template"]["spec"]["restartPolicy"] == "Always"


@pytest.mark.parametrize(
    "edits", [{"spec.replicas": 3}, {"metadata.annotations": {"a": "b"}}, {"spec.template.metadata.labels": {}}]
)
def test_spec_and_annotations_count_for_the_generation(edits):
    assert STRATEGY.generation_view(edited(deployment(), edits)) != STRATEGY.generation_view(deployment())


@pytest.mark.parametrize("edits", [{"metadata.labels": {"a": "b"}}, {"status.replicas": 3}])
def test_labels_and_status_do_not_count_for_the_generation(edits):
    assert STRATEGY.generation_view(edited(deployment(), edits)) == STRATEGY.generation_view(deployment())


def test_a_status_write_keeps_spec_and_labels_but_not_annotations():
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


def test_a_status_write_adds_no_labels():
    new = edited(deployment(), {"metadata.labels": {"new": "1"}})
    STRATEGY.prepare_for_status_update(CONTEXT, new, deployment())
    assert "labels" not in new["metadata"]


def test_an_update_of_the_spec_keeps_the_status():
    old = {**deployment(), "status": {"replicas": 1}}
    new = {**deployment(), "status": {"replicas": 7}}
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["status"] == {"replicas": 1}


def test_a_name_that_is_no_label_warns_on_create_only():
    dotted = edited(deployment(), {"metadata.name": "a.b"})
    [warning] = STRATEGY.warnings(CONTEXT, dotted, None)
    assert warning.startswith("metadata.name: this is used in Pod names and hostnames, which can result in surprising")
    assert list(STRATEGY.warnings(CONTEXT, dotted, dotted)) == []


def test_the_row_shows_how_many_are_ready_of_those_wanted():
    status = {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}
    row = STRATEGY.cells({**deployment(replicas=3), "status": status}, NOW)
    assert row == ["a", "1/3", 2, 1, "60s", "c", "i", "app=a"]
