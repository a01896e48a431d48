from __future__ import annotations

from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, SELECTOR, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.apps.replicaset.strategy import ReplicaSetStrategy

STRATEGY = ReplicaSetStrategy()
SET = defaulted(STRATEGY, named(spec={"selector": SELECTOR, "template": pod_template()}))


def test_default_sets_one_replica():
    assert SET["spec"]["replicas"] == 1
    assert defaulted(STRATEGY, {"spec": {"replicas": 0}})["spec"] == {"replicas": 0}


def test_default_sets_pod_defaults_of_template():
    assert SET["spec"]["template"]["spec"]["restartPolicy"] == "Always"


def test_prepare_for_create_sets_zero_replicas_in_status():
    new = {**SET, "status": {"replicas": 7}}
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"] == {"replicas": 0}


def test_generation_view_ignores_annotations():
    annotated = edited(SET, {"metadata.annotations": {"a": "b"}})
    assert STRATEGY.generation_view(annotated) == STRATEGY.generation_view(SET)


def test_warnings_about_name_that_is_no_dns_label():
    [warning] = STRATEGY.warnings(CONTEXT, edited(SET, {"metadata.name": "a.b"}), None)
    assert warning.startswith("metadata.name: this is used in Pod names")


def test_cells_show_desired_current_and_ready_replicas():
    row = STRATEGY.cells({**SET, "status": {"replicas": 3, "readyReplicas": 2}}, NOW)
    assert row == ["a", 1, 3, 2, "60s", "c", "i", "app=a"]
