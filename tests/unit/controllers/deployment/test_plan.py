"""One step of a Deployment."""

from __future__ import annotations

import pytest
from lightkube.models.apps_v1 import DeploymentStatus
from msgspec.structs import replace
from tests.unit.controllers.deployment.conftest import NOW

from steersman.controllers.deployment import status
from steersman.controllers.deployment.plan import CreateSet, DeleteSet, OldPodsRun, UpdateSet, plan
from steersman.controllers.deployment.revisions import DESIRED_REPLICAS, MAX_REPLICAS, REVISION, ROLLBACK_TO
from steersman.runtime.conditions import find_condition

NOTHING_RUNS = OldPodsRun([])


def step(deployment, *sets, old_pods_run=NOTHING_RUNS):
    return plan(deployment, sets, old_pods_run=old_pods_run, now=NOW)


def summary(planned):
    """Return the actions in short form."""
    short = []
    for action in planned.actions:
        match action:
            case CreateSet(rs=rs):
                short.append(("create", rs.spec.replicas))
            case UpdateSet(rs=rs):
                short.append((rs.metadata.name, rs.spec.replicas))
            case DeleteSet(rs=rs):
                short.append(("delete", rs.metadata.name))
    return short


def reason(planned, type_=status.PROGRESSING):
    condition = find_condition(planned.deployment.status.conditions, type_)
    return condition and condition.reason


def revised(deployment, **facts):
    return deployment(annotations={REVISION: "1"}, **facts)


def test_plan_creates_the_first_set_at_full_size(deployment):
    planned = step(deployment(3, least=5, annotations={"a": "b"}))
    (created,) = planned.actions
    rs = created.rs
    new_created = rs.metadata.labels["pod-template-hash"]
    assert created.message == f"Scaled up replica set d-{new_created} from 0 to 3"
    assert rs.metadata.name == f"d-{new_created}"
    assert (
        rs.metadata.labels
        == rs.spec.template.metadata.labels
        == {"app": "d", "v": "1", "pod-template-hash": new_created}
    )
    assert rs.spec.selector.matchLabels == {"app": "d", "pod-template-hash": new_created}
    assert rs.spec.minReadySeconds == 5
    assert rs.metadata.annotations == {"a": "b", REVISION: "1", DESIRED_REPLICAS: "3", MAX_REPLICAS: "4"}
    assert rs.metadata.ownerReferences[0].uid == "d-uid"


def test_plan_reports_a_created_set_without_counts(deployment):
    planned = step(deployment(3))
    assert (reason(planned), planned.deployment.metadata.annotations) == ("NewReplicaSetCreated", {REVISION: "1"})
    assert (planned.deployment.status.observedGeneration, planned.changed) == (None, True)


@pytest.mark.parametrize("revision", ["7", "x"])
def test_plan_copies_the_revision_text_of_the_present_set(deployment, rs, revision):
    planned = step(revised(deployment), rs(revision=revision))
    assert planned.deployment.metadata.annotations[REVISION] == revision


def test_plan_creates_an_empty_set_without_event(deployment):
    assert step(deployment(0)).actions[0].message == ""


def test_plan_waits_for_the_counts_of_a_new_set(deployment, rs):
    planned = step(revised(deployment), rs(observed=0))
    assert (reason(planned), planned.deployment.status.observedGeneration) == ("FoundNewReplicaSet", None)
    assert planned.requeue_after_seconds == 600


def test_plan_is_empty_at_rest(deployment, rs):
    first = step(revised(deployment), rs())
    assert (first.actions, first.changed, reason(first)) == ((), True, "NewReplicaSetAvailable")
    second = step(first.deployment, rs())
    assert (second.actions, second.changed, second.requeue_after_seconds) == ((), False, None)


def test_plan_of_a_new_template_starts_with_the_surge(deployment, rs):
    planned = step(deployment(3, version="2", surge=1, unavailable=0), rs(3, version="1"))
    assert summary(planned) == [("create", 1)]
    assert planned.actions[0].rs.metadata.annotations[REVISION] == "2"


def test_plan_of_a_new_template_scales_down_by_max_unavailable(deployment, rs):
    planned = step(deployment(3, version="2", surge=1, unavailable=1), rs(3, version="1", name="old"))
    assert summary(planned) == [("create", 1), ("old", 2)]
    assert planned.actions[1].message == "Scaled down replica set old from 3 to 2"


def test_old_replicas_give_way_to_available_new_ones(deployment, rs):
    old, new = rs(3, version="1", name="old"), rs(1, version="2", name="new", revision=2)
    assert summary(step(deployment(3, version="2", surge=1, unavailable=0), old, new)) == [("old", 2)]


def test_growing_and_shrinking_are_two_steps(deployment, rs):
    old, new = rs(2, version="1", name="old"), rs(1, version="2", name="new", revision=2)
    assert summary(step(deployment(3, version="2", surge=1, unavailable=1), old, new)) == [("new", 2)]


def test_plan_shrinks_an_oversized_new_set(deployment, rs):
    assert summary(step(revised(deployment), rs(5, name="new"))) == [("new", 3)]


def test_plan_removes_unhealthy_old_replicas_first(deployment, rs):
    """They keep nothing available, so taking them costs nothing."""
    sick, well = rs(2, version="0", available=0, name="sick"), rs(2, version="1", name="well")
    new = rs(0, version="2", name="new", revision=2)
    planned = step(deployment(3, version="2", surge=1, unavailable=1), sick, well, new)
    assert summary(planned) == [("sick", 0)]


def test_recreating_ends_the_old_before_anything_new(deployment, rs):
    recreates = deployment(3, version="2", strategy="Recreate")
    assert summary(step(recreates, rs(3, name="old"))) == [("old", 0)]
    assert summary(step(recreates, rs(0, current=1))) == []
    assert summary(step(recreates, rs(0), old_pods_run=OldPodsRun(["rs3-uid"]))) == []
    assert summary(step(recreates, rs(0, desired=None))) == [("create", 3)]


def test_pods_of_the_new_set_do_not_hold_it_back(deployment, rs):
    recreates = deployment(3, strategy="Recreate", annotations={REVISION: "1"})
    assert summary(step(recreates, rs(1, name="new"), old_pods_run=OldPodsRun(["new-uid"]))) == [("new", 3)]


def test_another_size_is_spread_and_nothing_rolled_out(deployment, rs):
    old, new = rs(3, version="1", name="old"), rs(1, version="2", name="new", revision=2)
    assert summary(step(deployment(6, version="2", surge=1), old, new)) == [("old", 5), ("new", 2)]


def test_another_size_of_the_only_set_is_its_own(deployment, rs):
    planned = step(revised(deployment, replicas=5), rs(3, name="new"))
    assert summary(planned) == [("new", 5)]
    annotations = planned.actions[0].rs.metadata.annotations
    assert (annotations[DESIRED_REPLICAS], annotations[MAX_REPLICAS]) == ("5", "6")


def test_plan_continues_with_a_set_scaled_for_another_size(deployment, rs):
    """One that was taken over from another Deployment, with the right size by chance."""
    planned = step(deployment(3, version="2"), rs(3, name="foreign", desired=7))
    assert summary(planned) == [("foreign", 3)]
    assert planned.actions[0].rs.metadata.annotations[DESIRED_REPLICAS] == "3"


def test_plan_of_recreate_continues_with_several_active_sets(deployment, rs):
    sets = [rs(2, version="0", name="a", desired=2), rs(2, version="1", name="b", desired=2)]
    assert summary(step(deployment(3, version="2", strategy="Recreate"), *sets)) == [("a", 0), ("b", 0)]


def test_paused_means_no_rollout(deployment, rs):
    planned = step(deployment(3, version="2", paused=True), rs(3, desired=3))
    assert (planned.actions, reason(planned)) == ((), "DeploymentPaused")
    resumed = replace(planned.deployment, spec=replace(planned.deployment.spec, paused=None))
    assert reason(step(resumed, rs(3), rs(0, version="2", revision=2))) == "DeploymentResumed"


@pytest.mark.parametrize(("requested", "actions"), [({}, [("delete", "old")]), ({ROLLBACK_TO: "1"}, [])])
def test_paused_deployment_keeps_its_history_for_a_rollback(deployment, rs, requested, actions):
    paused = deployment(3, version="2", paused=True, history=0, annotations={REVISION: "2", **requested})
    assert summary(step(paused, rs(0, name="old"), rs(3, version="2", revision=2))) == actions


def test_plan_does_not_report_a_timed_out_rollout_as_paused(deployment, rs):
    timed_out = DeploymentStatus(conditions=[status.progressing("False", status.TIMED_OUT, "", now=NOW)])
    assert reason(step(deployment(paused=True, status=timed_out), rs())) == status.TIMED_OUT


def test_plan_of_a_terminating_deployment_only_writes_the_status(deployment, rs):
    planned = step(deployment(3, version="2", deleted=True), rs(3))
    assert (planned.actions, planned.changed) == ((), True)


def test_rollback_makes_the_old_set_the_newest(deployment, rs):
    first, second = rs(0, version="1", revision=1, name="first"), rs(3, version="2", revision=2)
    planned = step(deployment(3, version="1", unavailable=0), first, second)
    update = planned.actions[-1]
    assert update.rs.metadata.annotations[REVISION] == "3"
    assert update.rs.metadata.annotations["deployment.kubernetes.io/revision-history"] == "1"
    assert planned.deployment.metadata.annotations[REVISION] == "3"


def test_annotations_and_size_are_written_in_one(deployment, rs):
    old, new = rs(3, version="1"), rs(0, version="2", revision=1, name="new")
    planned = step(deployment(3, version="2", unavailable=0, annotations={"a": "b"}), old, new)
    (update,) = planned.actions
    assert (update.rs.spec.replicas, update.rs.metadata.annotations["a"]) == (1, "b")


def test_min_ready_seconds_reach_the_set(deployment, rs):
    planned = step(revised(deployment, least=9), rs(name="new"))
    assert planned.actions[0].rs.spec.minReadySeconds == 9


def test_history_is_cut_when_all_is_rolled_out(deployment, rs):
    old = [rs(0, version=str(number), revision=number, name=f"old{number}") for number in (1, 2, 3)]
    new = rs(3, version="9", revision=4)
    first = step(deployment(3, version="9", history=1, annotations={REVISION: "4"}), *old, new)
    assert summary(first) == []
    assert summary(step(first.deployment, *old, new)) == [("delete", "old1"), ("delete", "old2")]


@pytest.mark.parametrize(
    ("replicas", "owners", "run"), [(1, [], True), (0, [], False), (0, ["other"], True), (0, ["rs2-uid"], False)]
)
def test_plan_of_recreate_detects_old_pods(rs, replicas, owners, run):
    old, new = rs(0, current=replicas), rs()
    assert OldPodsRun(owners)([old], new) == run
