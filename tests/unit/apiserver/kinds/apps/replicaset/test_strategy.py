from __future__ import annotations

from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, SELECTOR, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.apps.replicaset.strategy import ReplicaSetStrategy

STRATEGY = ReplicaSetStrategy()
SET = defaulted(STRATEGY, named(spec={"selector": SELECTOR, "template": pod_template()}))


def test_one_replica_is_wanted_unless_a_number_is_said():
    assert SET["spec"]["replicas"] == 1
    assert defaulted(STRATEGY, {"spec": {"replicas": 0}})["spec"] == {"replicas": 0}


def test_the_template_gets_the_defaults_of_pods():
    assert SET["spec"]["template"]["spec"]["restartPolicy"] == "Always"


def test_a_new_set_counts_none():
    new = {**SET, "status": {"replicas": 7}}
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"] == {"replicas": 0}


def test_annotations_do_not_count_for_the_generation():
    annotated = edited(SET, {"metadata.annotations": {"a": "b"}})
    assert STRATEGY.generation_view(annotated) == STRATEGY.generation_view(SET)


def test_a_name_that_is_no_label_warns():
    [warning] = STRATEGY.warnings(CONTEXT, edited(SET, {"metadata.name": "a.b"}), None)
    assert warning.startswith("metadata.name: this is used in Pod names")


def test_the_row_shows_wanted_current_and_ready():
    row = STRATEGY.cells({**SET, "status": {"replicas": 3, "readyReplicas": 2}}, NOW)
    assert row == ["a", 1, 3, 2, "60s", "c", "i", "app=a"]
