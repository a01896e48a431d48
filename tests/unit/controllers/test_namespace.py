from datetime import UTC, datetime

import msgspec
import pytest
from lightkube.models.core_v1 import Namespace

from steersman.client import tree
from steersman.controllers.namespace.controller import build
from steersman.controllers.namespace.plan import (
    Progress,
    ResourcesRemaining,
    UnexpectedItemsRemain,
    conditions,
    finalized,
    in_order,
    is_to_be_emptied,
    remains_of,
    seconds_to_next_pass,
    terminating,
    with_conditions,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)
PODS = tree("v1", "Pod")
SECRETS = tree("v1", "Secret")


def namespace(*, finalizers=("kubernetes",), deleted=True, phase="Active"):
    metadata = {"name": "n", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})}
    spec = {"finalizers": list(finalizers)}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Namespace)


def obj(**metadata):
    return {"metadata": metadata}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, False),
        (namespace(), True),
        (namespace(deleted=False), False),
        (namespace(finalizers=()), False),
        (namespace(finalizers=("mine", "kubernetes")), True),
    ],
)
def test_needs_content_deletion_for_a_terminating_namespace_with_the_finalizer(result, expected):
    assert is_to_be_emptied(result) is expected


def test_phase_is_written_once():
    assert terminating(namespace()).status.phase == "Terminating"
    assert terminating(namespace(phase="Terminating")) is None


def test_finalize_removes_only_the_kubernetes_finalizer():
    assert finalized(namespace(finalizers=("mine", "kubernetes"))).spec.finalizers == ["mine"]


def test_deletable_resources_have_pods_first_and_no_cluster_scoped_ones():
    pods, rest = in_order([SECRETS, PODS, tree("v1", "Node")])
    assert (pods, rest) == ([PODS], [SECRETS])


def test_terminating_pods_are_given_their_longest_grace():
    pods = [
        obj(name="a", deletionTimestamp="x", deletionGracePeriodSeconds=30),
        obj(name="b", deletionTimestamp="x", deletionGracePeriodSeconds=60),
    ]
    assert remains_of(PODS, pods) == ResourcesRemaining(60, 2)


def test_finalizers_are_counted_and_given_some_time():
    assert remains_of(SECRETS, [obj(finalizers=["a", "b"]), obj(finalizers=["a"])]) == ResourcesRemaining(
        15, 2, {"a": 2, "b": 1}
    )


def test_remaining_objects_without_finalizers_are_an_error():
    with pytest.raises(UnexpectedItemsRemain, match="/v1, Resource=secrets"):
        remains_of(SECRETS, [obj(name="a")])


def test_next_pass_is_after_half_of_the_estimate():
    progress = Progress()
    progress.add(PODS, ResourcesRemaining(30, 1))
    assert seconds_to_next_pass(progress) == 16


def test_conditions_name_remaining_objects_and_their_finalizers():
    progress = Progress()
    progress.add(PODS, ResourcesRemaining(30, 1))
    progress.add(tree("apps/v1", "Deployment"), ResourcesRemaining(15, 2, {"a/b": 2}))
    texts = {condition.type: (condition.reason, condition.message) for condition in conditions(progress)}
    assert texts == {
        "NamespaceContentRemaining": (
            "SomeResourcesRemain",
            "Some resources are remaining: deployments.apps has 2 resource instances, pods. has 1 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: a/b in 2 resource instances",
        ),
    }


def test_failures_are_aggregated():
    progress = Progress(discovery_failed={"a/v1": "stale"}, errors=["y", "x"])
    assert [condition.message for condition in conditions(progress)] == [
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: a/v1: stale",
        "Failed to delete all resource types, 2 remaining: x, y",
    ]
    assert not progress.is_empty


def test_conditions_are_written_and_keep_their_transition_time():
    progress = Progress()
    progress.add(PODS, ResourcesRemaining(30, 2))
    first = with_conditions(namespace(), conditions(progress), now=NOW)
    assert len(first.status.conditions) == 5
    fewer = Progress()
    fewer.add(PODS, ResourcesRemaining(30, 1))
    second = with_conditions(first, conditions(fewer), now=LATER)
    assert {condition.lastTransitionTime for condition in second.status.conditions} == {NOW}
    done = with_conditions(second, conditions(Progress()), now=LATER)
    changed = [condition for condition in done.status.conditions if condition.lastTransitionTime == LATER]
    assert [(condition.type, condition.status) for condition in changed] == [("NamespaceContentRemaining", "False")]
    assert with_conditions(done, [], now=LATER) is None


async def test_reconcile_deletes_contents_then_the_namespace(cluster):
    await cluster.start(build)
    await cluster.make("v1", "Namespace", "n")
    await cluster.make("v1", "ConfigMap", "c", namespace="n")
    await cluster.make("coordination.k8s.io/v1", "Lease", "l", namespace="n", spec={})
    await cluster.client.delete(tree("v1", "Namespace"), "n")
    await cluster.eventually("v1", "Namespace", "n", lambda obj: obj is None)


async def test_reconcile_waits_for_an_object_with_finalizer(cluster):
    await cluster.start(build)
    await cluster.make("v1", "Namespace", "n")
    held = await cluster.make("v1", "ConfigMap", "c", namespace="n", metadata={"finalizers": ["example.com/hold"]})
    await cluster.client.delete(tree("v1", "Namespace"), "n")

    def has_condition(result):
        conditions = result["status"].get("conditions", ())
        return any(
            condition["type"] == "NamespaceFinalizersRemaining" and condition["status"] == "True"
            for condition in conditions
        )

    await cluster.eventually("v1", "Namespace", "n", has_condition)
    await cluster.client.patch(
        tree("v1", "ConfigMap"), held["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace="n"
    )
    await cluster.eventually("v1", "Namespace", "n", lambda obj: obj is None, within_seconds=2)


async def test_reconcile_deletes_pods_first(cluster, pod_spec):
    await cluster.start(build)
    await cluster.make("v1", "Namespace", "n")
    await cluster.make("v1", "ServiceAccount", "default", namespace="n")
    await cluster.make("v1", "Pod", "p", namespace="n", spec=pod_spec, metadata={"finalizers": ["example.com/hold"]})
    await cluster.make("v1", "ConfigMap", "c", namespace="n")
    await cluster.client.delete(tree("v1", "Namespace"), "n")
    await cluster.eventually("v1", "Pod", "p", lambda obj: obj["metadata"].get("deletionTimestamp"), namespace="n")
    await cluster.clock.advance(5)
    assert await cluster.find("v1", "ConfigMap", "c", namespace="n")
    await cluster.client.patch(tree("v1", "Pod"), "p", {"metadata": {"finalizers": None}}, namespace="n")
    await cluster.eventually("v1", "Namespace", "n", lambda obj: obj is None)


async def test_namespaces_that_are_being_deleted_are_resynced(cluster, resyncs):
    await cluster.start(build, namespace_sync_period_seconds=7.0)
    for name in ("kept", "going"):
        await cluster.make("v1", "Namespace", name)
    await cluster.make("v1", "ConfigMap", "held", namespace="going", metadata={"finalizers": ["a/b"]})
    await cluster.client.delete(tree("v1", "Namespace"), "going")
    [(seconds, keys)] = resyncs
    await cluster.until(lambda: keys() == ["going"])
    assert seconds == 7.0
