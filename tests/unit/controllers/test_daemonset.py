"""DaemonSets: the rules as tables, and the controller on a server in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.apps_v1 import ControllerRevision, DaemonSet
from lightkube.models.core_v1 import Node, Pod

from steersman.client.objects import name_of
from steersman.controllers.daemonset import plan, rules
from steersman.controllers.daemonset.controller import build
from steersman.controllers.daemonset.failed_pods import FailedPods
from steersman.controllers.daemonset.status import plan_status, seconds_to_requeue
from steersman.runtime.owners import Owner

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = Owner("apps/v1", "DaemonSet", "ds", "u", controller=True)
SURGE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def daemon(*, generation="1", strategy=None, pod_spec=None, **spec):
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [], **(pod_spec or {})}}
    metadata = {"name": "ds", "namespace": "ns", "uid": "u", "generation": 7,
                "annotations": {rules.GENERATION_ANNOTATION: generation}}  # fmt: skip
    full_spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template, "updateStrategy": strategy, **spec}
    return msgspec.convert({"metadata": metadata, "spec": full_spec}, DaemonSet)


def node(name="n", *, labels=None, taints=()):
    taints = [{"key": key, "effect": effect} for key, effect in taints]
    return msgspec.convert({"metadata": {"name": name, "labels": labels or {}}, "spec": {"taints": taints}}, Node)


def pod(name, on="n", *, revision="new", phase="Running", ready=True, age=0, bound=True, deleted=False):
    since = NOW - timedelta(seconds=age)
    metadata = {"name": name, "namespace": "ns", "uid": name, "labels": {rules.REVISION_HASH: revision},
                "creationTimestamp": since, "deletionTimestamp": NOW if deleted else None}  # fmt: skip
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": since}] if ready else []
    converted = msgspec.convert(
        {"metadata": metadata, "spec": {"containers": []}, "status": {"phase": phase, "conditions": conditions}}, Pod
    )
    pinned = rules.new_pod(daemon(), on, OWNER, revision).spec
    return msgspec.structs.replace(converted, spec=msgspec.structs.replace(pinned, nodeName=on if bound else None))


def observe(ds, nodes, *pods):
    return plan.observe(ds, [node(name) for name in nodes], pods, "new", now=NOW)


def names(pods):
    return sorted(map(name_of, pods))


# Nodes


@pytest.mark.parametrize(
    ("pod_spec", "obj", "eligibility"),
    [
        ({}, node(), (True, True)),
        ({"nodeName": "n"}, node(), (True, True)),
        ({"nodeName": "m"}, node(), (False, False)),
        ({"nodeSelector": {"a": "b"}}, node(), (False, False)),
        ({"nodeSelector": {"a": "b"}}, node(labels={"a": "b"}), (True, True)),
        ({}, node(taints=[("gpu", "NoSchedule")]), (False, True)),
        ({}, node(taints=[("gpu", "NoExecute")]), (False, False)),
        ({}, node(taints=[("gpu", "PreferNoSchedule")]), (True, True)),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, node(taints=[("gpu", "NoSchedule")]), (True, True)),
        ({}, node(taints=[("node.kubernetes.io/unschedulable", "NoSchedule")]), (True, True)),
        ({}, node(taints=[("node.kubernetes.io/not-ready", "NoExecute")]), (True, True)),
        ({}, node(taints=[("node.kubernetes.io/network-unavailable", "NoSchedule")]), (False, True)),
        ({"hostNetwork": True}, node(taints=[("node.kubernetes.io/network-unavailable", "NoSchedule")]), (True, True)),
    ],
)
def test_node_should_run_daemon_pod(pod_spec, obj, eligibility):
    assert rules.node_should_run_daemon_pod(daemon(pod_spec=pod_spec), obj) == eligibility


def test_new_pod_is_pinned_and_keeps_preferences():
    affinity = {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
    }}  # fmt: skip
    pod = rules.new_pod(daemon(pod_spec={"affinity": affinity}), "n", OWNER, "h")
    assert rules.target_node(pod) == "n"
    assert len(pod.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution) == 1
    assert pod.metadata.labels == {"app": "x", rules.REVISION_HASH: "h", rules.GENERATION_LABEL: "1"}
    assert pod.spec.nodeName is None


def test_tolerations_are_not_duplicated():
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    tolerations = rules.tolerations(daemon(pod_spec={"tolerations": [own]}).spec.template.spec)
    assert [toleration.tolerationSeconds for toleration in tolerations if toleration.key == own["key"]] == [None]
    assert len(tolerations) == 6


@pytest.mark.parametrize(
    ("rolling", "desired", "expected"),
    [
        (None, 10, (0, 1)),
        ({"maxUnavailable": "25%"}, 10, (0, 3)),
        ({"maxSurge": "25%", "maxUnavailable": 0}, 10, (3, 0)),
        ({"maxSurge": 0, "maxUnavailable": "0%"}, 10, (0, 1)),
    ],
)
def test_fenceposts_are_rounded_up(rolling, desired, expected):
    assert rules.fenceposts(daemon(strategy={"rollingUpdate": rolling}), desired) == expected


# Pods


@pytest.mark.parametrize(
    ("nodes", "pods", "create", "delete"),
    [
        ("ab", [], ["a", "b"], []),
        ("ab", [pod("p", "a")], ["b"], []),
        ("a", [pod("p", "a", deleted=True)], [], []),
        ("a", [pod("p", "a", deleted=True, phase="Failed")], ["a"], []),
        ("a", [pod("p", "a", age=5), pod("q", "a")], [], ["q"]),
        ("a", [pod("p", "a", age=5, bound=False), pod("q", "a")], [], ["p"]),
        ("", [pod("p", "gone"), pod("q", "gone", bound=False)], [], ["q"]),
    ],
)
def test_plan_nodes_creates_one_pod_per_node(nodes, pods, create, delete):
    needs = plan.plan_nodes(observe(daemon(), nodes, *pods))
    assert (sorted(needs.create), names(needs.delete)) == (create, delete)


def test_adopted_pod_without_node_is_left_alone():
    unassigned = pod("p", bound=False, revision="old")
    unassigned = msgspec.structs.replace(unassigned, spec=msgspec.structs.replace(unassigned.spec, affinity=None))
    world = observe(daemon(), "a", unassigned, pod("q", "a"))
    assert (plan.plan_nodes(world).delete, plan.plan_update(world).delete) == ((), ())


@pytest.mark.parametrize(
    ("pods", "create"),
    [
        ([pod("p", deleted=True)], ("n",)),
        ([pod("p", phase="Failed")], ("n",)),
        ([pod("p", deleted=True), pod("q")], ()),
        ([pod("p", ready=False)], ()),
    ],
)
def test_surge_does_not_wait_for_terminating_pods(pods, create):
    assert plan.plan_nodes(observe(daemon(strategy=SURGE), "n", *pods)).create == create


def test_pods_on_ineligible_nodes_are_deleted_and_finished_ones_replaced():
    ds = daemon(pod_spec={"nodeSelector": {"a": "b"}})
    assert names(plan.plan_nodes(observe(ds, "n", pod("p"))).delete) == ["p"]
    needs = plan.plan_nodes(observe(daemon(), "nm", pod("p", phase="Failed"), pod("q", "m", phase="Succeeded")))
    assert (names(needs.failed), names(needs.succeeded), needs.delete) == (["p"], ["q"], ())


@pytest.mark.parametrize(
    ("pods", "delete", "wait"),
    [
        ([pod("old", revision="old", age=9), pod("new", ready=False)], [], None),
        ([pod("old", revision="old", age=9), pod("new", age=2)], [], 3),
        ([pod("old", revision="old", age=9), pod("new", age=7)], ["old"], None),
        ([pod("old", revision="old", ready=False, age=9), pod("new", ready=False)], ["old"], None),
        ([pod("old", revision="old", age=9), pod("old2", revision="old", age=8), pod("new", age=2)], ["old2"], 3),
    ],
)
def test_surge_keeps_the_old_pod_until_the_new_one_is_available(pods, delete, wait):
    needs = plan.plan_nodes(observe(daemon(strategy=SURGE, minReadySeconds=5), "n", *pods))
    assert (names(needs.delete), needs.requeue_after_seconds) == (delete, wait)


@pytest.mark.parametrize(
    ("most", "pods", "delete"),
    [
        (1, [pod("a", "a", revision="old"), pod("b", "b", revision="old")], ["a"]),
        (2, [pod("a", "a", revision="old"), pod("b", "b", revision="old")], ["a", "b"]),
        (1, [pod("a", "a", revision="old"), pod("b", "b", ready=False)], []),
        (1, [pod("a", "a", revision="old"), pod("b", "b", revision="old", ready=False)], ["b"]),
        (1, [pod("a", "a", revision="old")], []),
        (1, [pod("a", "a", revision="old"), pod("b", "b")], ["a"]),
    ],
)
def test_plan_update_respects_max_unavailable(most, pods, delete):
    ds = daemon(strategy={"rollingUpdate": {"maxUnavailable": most}})
    assert names(plan.plan_update(observe(ds, "ab", *pods)).delete) == delete


@pytest.mark.parametrize(
    ("pods", "create", "delete"),
    [
        ([pod("a", "a", revision="old"), pod("b", "b", revision="old")], ["a"], []),
        ([pod("a", "a", revision="old", ready=False), pod("b", "b", revision="old")], ["a", "b"], []),
        ([pod("a", "a", revision="old"), pod("a2", "a", ready=False), pod("b", "b", revision="old")], [], []),
        ([pod("a", "a", revision="old"), pod("a2", "a"), pod("b", "b", revision="old")], ["b"], ["a"]),
    ],
)
def test_plan_update_respects_max_surge(pods, create, delete):
    needs = plan.plan_update(observe(daemon(strategy=SURGE), "ab", *pods))
    assert (sorted(needs.create), names(needs.delete)) == (create, delete)


@pytest.mark.parametrize(
    ("pods", "create", "delete"),
    [
        ([pod("a", "a"), pod("c", "c", revision="old")], [], ["c"]),
        ([pod("a", "a", ready=False), pod("c", "c", revision="old")], [], []),
        ([pod("a", "a", ready=False), pod("c", "c", revision="old", ready=False)], [], ["c"]),
        ([pod("a", "a", revision="old"), pod("c", "c", revision="old")], ["a"], ["c"]),
        ([pod("a", "a"), pod("c", "c")], [], []),
        ([pod("a", "a"), pod("gone", "gone", revision="old")], [], []),
    ],
)
def test_surge_deletes_old_pods_on_ineligible_nodes(pods, create, delete):
    nodes = [node("a"), node("c", taints=[("gpu", "NoSchedule")])]
    needs = plan.plan_update(plan.observe(daemon(strategy=SURGE), nodes, pods, "new", now=NOW))
    assert (sorted(needs.create), names(needs.delete)) == (create, delete)


def test_only_the_revision_hash_identifies_updated_pods():
    pod = rules.new_pod(daemon(generation="3"), "n", OWNER, "h")
    assert rules.is_updated(pod, "h")
    assert not rules.is_updated(pod, "other")


def test_plan_update_replaces_adopted_pods_of_the_same_template_generation():
    adopted = rules.new_pod(daemon(generation="1"), "n", OWNER, "old")
    world = observe(daemon(generation="1", strategy={"type": "RollingUpdate"}), ["n"], adopted)
    assert plan.plan_update(world).delete == (adopted,)


# Status


def test_status_counts_nodes():
    ds = daemon(pod_spec={"nodeSelector": {"a": "b"}}, minReadySeconds=5)
    nodes = [node("n", labels={"a": "b"}), node("m", labels={"a": "b"}), node("o")]
    pods = [pod("p", age=9), pod("r", "o")]
    status = plan_status(plan.observe(ds, nodes, pods, "new", now=NOW), observed=True, collisions=0)
    assert (status.desiredNumberScheduled, status.currentNumberScheduled, status.numberMisscheduled) == (2, 1, 1)
    assert (status.numberReady, status.numberAvailable, status.numberUnavailable) == (1, 1, 1)
    assert (status.updatedNumberScheduled, status.observedGeneration) == (1, 7)


def test_seconds_to_requeue_is_the_next_availability():
    world = observe(daemon(minReadySeconds=5), "n", pod("p", age=2))
    assert seconds_to_requeue(world, plan_status(world, observed=False, collisions=0)) == 3


def test_failed_pods_are_replaced_with_backoff():
    failed = FailedPods()
    for now, wait in [(0, 1), (1, 2), (3, 4)]:
        assert failed.seconds_left("k", now=now) == 0
        failed.note("k", now=now)
        assert failed.seconds_left("k", now=now) == wait
    failed.note("k", now=10_000)
    assert failed.seconds_left("k", now=10_000) == 1


# On a server


async def run(cluster, *nodes, **spec):
    for name in nodes:
        await cluster.make("v1", "Node", name)
        await cluster.client.patch(Node, name, {"spec": {"taints": None}})
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    full_spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template, **spec}
    await cluster.make("apps/v1", "DaemonSet", "ds", namespace="default", spec=full_spec)
    return await cluster.start(build)


async def targets(cluster):
    return sorted(rules.target_node(pod) for pod in await cluster.client.list(Pod, namespace="default"))


def are_on(cluster, expected):
    async def so():
        return await targets(cluster) == expected

    return so


async def test_pods_follow_nodes(cluster):
    await run(cluster, "a", "b")
    await cluster.until(are_on(cluster, ["a", "b"]))
    await cluster.make("v1", "Node", "c")
    await cluster.client.patch(Node, "c", {"spec": {"taints": None}})
    await cluster.until(are_on(cluster, ["a", "b", "c"]))
    await cluster.client.delete(Node, "a")
    await cluster.until(are_on(cluster, ["b", "c"]))
    expected = {"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberUnavailable": 2}
    await cluster.eventually(
        "apps/v1", "DaemonSet", "ds", lambda obj: expected.items() <= obj["status"].items(), namespace="default"
    )


async def test_tainted_node_loses_its_pod(cluster):
    await run(cluster, "a", "b")
    await cluster.until(are_on(cluster, ["a", "b"]))
    await cluster.client.patch(Node, "a", {"spec": {"taints": [{"key": "gpu", "effect": "NoExecute"}]}})
    await cluster.until(are_on(cluster, ["b"]))
    await cluster.client.patch(Node, "a", {"spec": {"taints": None}})
    await cluster.until(are_on(cluster, ["a", "b"]))


async def test_history_is_limited(cluster):
    await run(cluster, revisionHistoryLimit=1)
    for version in "123":
        patch = {"spec": {"template": {"metadata": {"labels": {"v": version}}}}}
        await cluster.client.patch(DaemonSet, "ds", patch, namespace="default")
        await cluster.clock.advance(1)

    async def numbers():
        controller_revisions = await cluster.client.list(ControllerRevision, namespace="default")
        return sorted(item.revision for item in controller_revisions) == [3, 4]

    await cluster.until(numbers)


async def test_revision_of_a_terminating_finished_pod_is_kept(cluster):
    await run(cluster, "a", revisionHistoryLimit=0)
    await cluster.until(are_on(cluster, ["a"]))
    (held,) = await cluster.client.list(Pod, namespace="default")
    patch = {"metadata": {"finalizers": ["example.com/hold"]}}
    await cluster.client.patch(Pod, name_of(held), patch, namespace="default")
    patch = {"status": {"phase": "Failed"}}
    await cluster.client.patch(Pod, name_of(held), patch, namespace="default", subresource="status")
    await cluster.until(are_on(cluster, ["a", "a"]))
    for version in "12":
        patch = {"spec": {"template": {"metadata": {"labels": {"v": version}}}}}
        await cluster.client.patch(DaemonSet, "ds", patch, namespace="default")
        await cluster.clock.advance(1)

    async def numbers():
        controller_revisions = await cluster.client.list(ControllerRevision, namespace="default")
        return sorted(item.revision for item in controller_revisions) == [1, 3]

    await cluster.until(numbers)


async def test_failed_pod_gets_an_event_and_is_replaced(cluster):
    await run(cluster, "a")
    await cluster.until(are_on(cluster, ["a"]))
    first = (await cluster.client.list(Pod, namespace="default"))[0].metadata
    patch = {"status": {"phase": "Failed"}}
    await cluster.client.patch(Pod, first.name, patch, namespace="default", subresource="status")

    async def replaced():
        pods = await cluster.client.list(Pod, namespace="default")
        return len(pods) == 1 and pods[0].metadata.uid != first.uid

    await cluster.until(replaced)
    events = await cluster.until(lambda: cluster.events("FailedDaemonPod"))
    assert events[0]["message"] == f"Found failed daemon pod default/{first.name} on node a, will try to kill it"
