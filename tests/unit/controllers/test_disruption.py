from datetime import UTC, datetime

import msgspec
import pytest
from lightkube.models.core_v1 import Pod
from lightkube.models.policy_v1 import PodDisruptionBudget

from steersman.client import PatchType, tree
from steersman.controllers.disruption.controller import build
from steersman.controllers.disruption.plan import (
    Expected,
    NoController,
    Scale,
    build_disrupted_pods,
    count_healthy_pods,
    expected_pod_count,
    fail_safe_status,
    is_written,
    matching,
    needs_scale,
    seconds_to_stale,
    selected,
    stale_patch,
    updated_pdb_status,
)

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
KIND = ("policy/v1", "PodDisruptionBudget")


def budget(*, disrupted_pods=None, selector=None, **spec):
    body = {
        "metadata": {"name": "b", "namespace": "n", "generation": 3},
        "spec": {"selector": {"matchLabels": {"app": "a"}} if selector is None else selector, **spec},
        "status": {
            "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0,
            "disruptedPods": disrupted_pods,
        },
    }  # fmt: skip
    return msgspec.convert(body, PodDisruptionBudget)


def pod(name, *, ready=True, owner="", deleted=False, conditions=(), labels=None):
    metadata = {"name": name, "labels": {"app": "a"} if labels is None else labels, "uid": name}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    rows = [{"type": "Ready", "status": str(ready)}, *conditions]
    return msgspec.convert({"metadata": metadata, "status": {"phase": "Running", "conditions": rows}}, Pod)


SCALES = {"one": Scale("d", 10), "two": Scale("d", 10), "three": Scale("s", 5), "none": None}


@pytest.mark.parametrize(
    ("pdb", "owners", "expected"),
    [
        (budget(minAvailable=2), ["", ""], Expected(2, 2)),
        (budget(minAvailable="50%"), ["one"], Expected(10, 5)),
        (budget(minAvailable="25%"), ["one", "two", "three"], Expected(15, 4)),
        (budget(maxUnavailable=3), ["one"], Expected(10, 7)),
        (budget(maxUnavailable="25%"), ["three"], Expected(5, 3)),
        (budget(maxUnavailable=20), ["one"], Expected(10, 0)),
        (budget(maxUnavailable=1), ["", "one"], Expected(10, 9, ("p0",))),
        (budget(), ["one"], Expected(0, 0)),
    ],
)
def test_expect_counts_pods_or_scales(pdb, owners, expected):
    assert (
        expected_pod_count(pdb, [pod(f"p{number}", owner=owner) for number, owner in enumerate(owners)], SCALES)
        == expected
    )


def test_expect_raises_for_a_controller_without_scale():
    with pytest.raises(NoController, match='found no controllers for pod "p"'):
        expected_pod_count(budget(maxUnavailable=1), [pod("p", owner="none")], SCALES)


def test_needs_scale():
    assert [needs_scale(budget(**spec)) for spec in ({"minAvailable": 1}, {"minAvailable": "1%"}, {"maxUnavailable": 0})] == [
        False, True, True,
    ]  # fmt: skip


def test_selected_and_matching():
    pods = [pod("p"), pod("q", labels={"app": "b"})]
    assert [selected_pod.metadata.name for selected_pod in selected(budget(), pods)] == ["p"]
    assert len(selected(budget(selector={}), pods)) == 2
    assert matching([budget()], {"app": "b"}) == []


def test_admitted_evictions_are_unhealthy_for_two_minutes():
    pdb = budget(
        disrupted_pods={"p": "2026-01-01T00:09:00Z", "q": "2026-01-01T00:00:00Z", "gone": "2026-01-01T00:09:00Z"}
    )
    pods = [pod("p"), pod("q"), pod("r", deleted=True), pod("s", ready=False), pod("t")]
    waiting = build_disrupted_pods(pdb, pods, now=NOW)
    assert list(waiting.pods) == ["p"]
    assert [selected_pod.metadata.name for selected_pod in waiting.overdue] == ["q"]
    assert waiting.seconds_to_recheck == 60
    assert count_healthy_pods(pods, waiting.pods) == 2


@pytest.mark.parametrize(
    ("expected", "healthy", "allowed", "reason"),
    [
        (Expected(3, 2), 3, 1, "SufficientPods"),
        (Expected(3, 2), 2, 0, "InsufficientPods"),
        (Expected(3, 2), 0, 0, "InsufficientPods"),
        (Expected(0, 0), 3, 0, "InsufficientPods"),
    ],
)
def test_status_allows_disruptions_beyond_desired_healthy(expected, healthy, allowed, reason):
    new = updated_pdb_status(budget(minAvailable=2), expected, healthy, {}, now=NOW)
    assert (new.disruptionsAllowed, new.conditions[0].reason, new.observedGeneration) == (allowed, reason, 3)


def test_unchanged_status_is_not_written():
    pdb = budget(minAvailable=1)
    pdb.status = updated_pdb_status(pdb, Expected(1, 1), 1, {}, now=NOW)
    later = NOW.replace(hour=5)
    assert is_written(pdb, updated_pdb_status(pdb, Expected(1, 1), 1, {}, now=later))
    assert not is_written(pdb, updated_pdb_status(pdb, Expected(2, 1), 1, {}, now=later))


def test_failed_status_allows_no_disruption():
    new = fail_safe_status(budget(), "why", now=NOW)
    assert (new.disruptionsAllowed, new.conditions[0].reason, new.conditions[0].message) == (0, "SyncFailed", "why")


def target(**more):
    return {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-01-01T00:09:00Z", **more}


@pytest.mark.parametrize(
    ("pdb", "seconds"),
    [
        (pod("p", conditions=[target()]), 60),
        (pod("p", conditions=[target(reason="TerminationByKubelet")]), None),
        (pod("p", conditions=[target(status="False")]), None),
        (pod("p", conditions=[target()], deleted=True), None),
        (pod("p"), None),
    ],
)
def test_stale_disruption_target_is_reset(pdb, seconds):
    assert seconds_to_stale(pdb, now=NOW) == seconds
    assert stale_patch(pdb, now="now")["status"]["conditions"][0]["status"] == "False"


async def ready_pod(cluster, name, pod_spec):
    metadata = {"labels": {"app": "a"}}
    await cluster.make("v1", "Pod", name, namespace="default", spec={**pod_spec, "nodeName": "x"}, metadata=metadata)
    patch = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await cluster.client.patch(tree("v1", "Pod"), name, patch, namespace="default", subresource="status")


async def test_status_follows_the_pods(cluster, pod_spec):
    await cluster.start(build)
    await ready_pod(cluster, "p", pod_spec)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    await cluster.make(*KIND, "b", namespace="default", spec=spec)
    await cluster.eventually(*KIND, "b", lambda obj: obj["status"].get("currentHealthy") == 1, namespace="default")
    await ready_pod(cluster, "q", pod_spec)
    await cluster.eventually(*KIND, "b", lambda obj: obj["status"].get("disruptionsAllowed") == 1, namespace="default")


async def test_unmanaged_pods_get_an_event(cluster, pod_spec):
    await cluster.start(build)
    await ready_pod(cluster, "p", pod_spec)
    await cluster.make(*KIND, "b", namespace="default", spec={"maxUnavailable": 1, "selector": {}})
    await cluster.until(lambda: cluster.events("UnmanagedPods"))


async def test_pods_of_several_budgets_get_an_event(cluster, pod_spec):
    await cluster.start(build)
    for name in ("c", "b"):
        await cluster.make(*KIND, name, namespace="default", spec={"maxUnavailable": 1, "selector": {}})
    await ready_pod(cluster, "p", pod_spec)
    (event,) = await cluster.until(lambda: cluster.events("MultiplePodDisruptionBudgets"))
    assert event["message"] == 'Pod "default"/"p" matches multiple PodDisruptionBudgets.  Chose "b" arbitrarily.'
    assert (event["type"], event["involvedObject"]["kind"]) == ("Warning", "Pod")


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        ("apps/v1", "DaemonSet", "daemonsets.apps does not implement the scale subresource"),
        ("apps/v1", "StatefulSet", 'found no controllers for pod "p"'),
        ("none.example/v1", "None", 'no matches for kind "None" in version "none.example/v1"'),
    ],
)
async def test_uncountable_budget_has_the_reason_in_its_condition(cluster, pod_spec, api_version, kind, message):
    await cluster.start(build)
    owner = {"apiVersion": api_version, "kind": kind, "name": "o", "uid": "o", "controller": True}
    metadata = {"labels": {"app": "a"}, "ownerReferences": [owner]}
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "nodeName": "x"}, metadata=metadata)
    await cluster.make(*KIND, "b", namespace="default", spec={"maxUnavailable": 1, "selector": {}})

    def has_reason(pdb):
        rows = (pdb.get("status") or {}).get("conditions") or ()
        return any((row["reason"], row["message"]) == ("SyncFailed", message) for row in rows)

    await cluster.eventually(*KIND, "b", has_reason, namespace="default")
    await cluster.until(lambda: cluster.events("CalculateExpectedPodCountFailed"))


async def test_uncountable_budget_is_not_retried(cluster, pod_spec, clock):
    await cluster.start(build)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "o", "uid": "o", "controller": True}
    metadata = {"labels": {"app": "a"}, "ownerReferences": [owner]}
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "nodeName": "x"}, metadata=metadata)
    await cluster.make(*KIND, "b", namespace="default", spec={"maxUnavailable": 1, "selector": {}})

    async def is_counted_twice():
        events = await cluster.events("CalculateExpectedPodCountFailed")
        return [event["count"] for event in events] == [2]

    await cluster.until(is_counted_twice)  # for the budget, and for its new status
    await clock.advance(60)
    assert await is_counted_twice()


async def test_pod_that_leaves_a_budget_is_no_longer_counted(cluster, pod_spec):
    await cluster.start(build)
    await ready_pod(cluster, "p", pod_spec)
    selector = {"matchLabels": {"app": "a"}}
    await cluster.make(*KIND, "b", namespace="default", spec={"minAvailable": 1, "selector": selector})
    await cluster.eventually(*KIND, "b", lambda obj: obj["status"].get("currentHealthy") == 1, namespace="default")
    await cluster.client.patch(tree("v1", "Pod"), "p", {"metadata": {"labels": {"app": "z"}}}, namespace="default")
    await cluster.eventually(*KIND, "b", lambda obj: obj["status"].get("currentHealthy") == 0, namespace="default")


async def test_overdue_disruption_gets_an_event(cluster, pod_spec):
    await cluster.start(build)
    await ready_pod(cluster, "p", pod_spec)
    await cluster.make(*KIND, "b", namespace="default", spec={"minAvailable": 1, "selector": {}})
    status = {"disruptedPods": {"p": "2020-01-01T00:00:00Z"}}
    await cluster.client.patch(tree(*KIND), "b", {"status": status}, namespace="default", subresource="status")
    (event,) = await cluster.until(lambda: cluster.events("NotDeleted"))
    assert event["message"] == "Pod was expected by PDB default/default to be deleted but it wasn't"
    await cluster.eventually(*KIND, "b", lambda obj: not obj["status"].get("disruptedPods"), namespace="default")


async def test_replica_set_counts_its_own_replicas_without_its_deployment(cluster, pod_spec):
    await cluster.start(build)
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": True}
    labels = {"matchLabels": {"app": "a"}}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec}
    replica_set = await cluster.make(
        "apps/v1", "ReplicaSet", "o", namespace="default",
        spec={"replicas": 3, "selector": labels, "template": template}, metadata={"ownerReferences": [deployment]},
    )  # fmt: skip
    uid = replica_set["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o", "uid": uid, "controller": True}
    metadata = {"labels": {"app": "a"}, "ownerReferences": [owner]}
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "nodeName": "x"}, metadata=metadata)
    await cluster.make(*KIND, "b", namespace="default", spec={"maxUnavailable": 1, "selector": labels})
    await cluster.eventually(*KIND, "b", lambda obj: obj["status"].get("expectedPods") == 3, namespace="default")


@pytest.mark.parametrize("meets_a_conflict", [False, True])
async def test_stale_condition_becomes_false(cluster, pod_spec, clock, conflicts, meets_a_conflict):
    await cluster.start(build)
    await ready_pod(cluster, "p", pod_spec)
    condition = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    patch = {"status": {"conditions": [condition]}}
    await cluster.client.patch(
        tree("v1", "Pod"), "p", patch, namespace="default", subresource="status", patch_type=PatchType.STRATEGIC
    )
    if meets_a_conflict:
        conflicts.add("PATCH", "/pods/p/status")
    await clock.advance(150)

    def is_false(pdb):
        return any(
            condition["type"] == "DisruptionTarget" and condition["status"] == "False"
            for condition in pdb["status"]["conditions"]
        )

    await cluster.eventually("v1", "Pod", "p", is_false, namespace="default")
