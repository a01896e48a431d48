from functools import partial

import msgspec
import pytest
from lightkube.models.core_v1 import Node, Pod

from steersman.client import tree
from steersman.controllers.podgc.controller import build
from steersman.controllers.podgc.plan import (
    NODE_GONE,
    failed_patch,
    is_out_of_service,
    is_unscheduled_and_terminating,
    surplus,
    terminating_pods,
)


def pod(name="p", *, phase="Running", node="n", deleted=False, created="2026-01-01T00:00:00Z", reason=None, **metadata):
    metadata |= {"name": name, "uid": name, "creationTimestamp": created}
    if deleted:
        metadata["deletionTimestamp"] = created
    spec = {"containers": [], **({"nodeName": node} if node else {})}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase, "reason": reason}}, Pod)


@pytest.mark.parametrize(
    ("obj", "expected"), [(pod(node="", deleted=True), True), (pod(deleted=True), False), (pod(node=""), False)]
)
def test_plan_deletes_terminating_unassigned_pods(obj, expected):
    assert is_unscheduled_and_terminating(obj) is expected


@pytest.mark.parametrize(
    ("ready", "taint", "expected"), [("False", True, True), ("True", True, False), ("False", False, False)]
)
def test_is_out_of_service_requires_taint_and_not_ready(ready, taint, expected):
    taints = [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}] if taint else []
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    assert is_out_of_service(msgspec.convert({"spec": {"taints": taints}, "status": status}, Node)) is expected
    assert not is_out_of_service(None)


def test_plan_deletes_only_terminating_pods_of_out_of_service_nodes():
    assert [item.metadata.name for item in terminating_pods([pod("a"), pod("b", deleted=True)])] == ["b"]


def test_plan_deletes_terminated_pods_beyond_the_threshold():
    pods = [
        pod("new", phase="Failed", created="2026-01-03T00:00:00Z"),
        pod("old", phase="Succeeded", created="2026-01-01T00:00:00Z"),
        pod("evicted", phase="Failed", created="2026-01-02T00:00:00Z", reason="Evicted"),
        pod("runs"),
    ]
    assert [item.metadata.name for item in surplus(pods, threshold=1)] == ["evicted", "old"]
    done = [pod("x", phase="Succeeded", created="2026-01-03T00:00:00Z", reason="Evicted"), *pods[:2]]
    assert [item.metadata.name for item in surplus(done, threshold=2)] == ["old"]
    assert surplus(pods, threshold=3) == []
    assert surplus(pods, threshold=0) == []


def test_deleted_pod_has_a_disruption_condition():
    patch = failed_patch(pod(generation=2), now="now", disruption=NODE_GONE)
    assert patch["status"]["phase"] == "Failed"
    assert patch["status"]["conditions"][0]["reason"] == "DeletionByPodGC"
    assert patch["status"]["observedGeneration"] == 2
    assert failed_patch(pod(phase="Succeeded"), now="now") is None


async def test_pods_of_a_deleted_node_are_deleted_after_the_quarantine(cluster, pod_spec, clock):
    await cluster.make("v1", "Node", "n")
    metadata = {"finalizers": ["example.com/hold"]}
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "nodeName": "n"}, metadata=metadata)
    controller = await cluster.start(build)
    await cluster.client.delete(tree("v1", "Node"), "n")
    await clock.advance(35)
    assert "deletionTimestamp" not in (await cluster.find("v1", "Pod", "p", namespace="default"))["metadata"]
    obj = await cluster.eventually(
        "v1", "Pod", "p", lambda obj: "deletionTimestamp" in obj["metadata"], namespace="default"
    )
    assert obj["status"]["phase"] == "Failed"
    assert obj["status"]["conditions"][0]["type"] == "DisruptionTarget"
    labels = {"namespace": "default", "reason": "orphaned"}
    deletions = partial(cluster.sample, controller, "pod_gc_collector_force_delete_pods_total", labels)
    await cluster.until(lambda: deletions() == 1)


async def test_pods_of_a_recreated_node_are_kept(cluster, pod_spec, clock):
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "nodeName": "n"})
    await cluster.start(build)
    await clock.advance(10)
    await cluster.make("v1", "Node", "n")
    await clock.advance(120)
    assert (await cluster.find("v1", "Pod", "p", namespace="default"))["status"]["phase"] == "Pending"


async def test_terminated_pods_are_bounded(cluster, pod_spec):
    await cluster.start(build, terminated_pod_gc_threshold=1)
    for name in ("a", "b"):
        await cluster.make("v1", "Pod", name, namespace="default", spec=pod_spec)
        patch = {"status": {"phase": "Succeeded"}}
        await cluster.client.patch(tree("v1", "Pod"), name, patch, namespace="default", subresource="status")
    await cluster.eventually("v1", "Pod", "a", lambda obj: obj is None, namespace="default")
    assert await cluster.find("v1", "Pod", "b", namespace="default")


async def test_failed_deletion_is_counted_as_an_error(cluster, pod_spec):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["DELETE"]}
    policy = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
    api = "admissionregistration.k8s.io/v1"
    await cluster.make(api, "ValidatingAdmissionPolicy", "keep", spec=policy)
    binding = {"policyName": "keep", "validationActions": ["Deny"]}
    await cluster.make(api, "ValidatingAdmissionPolicyBinding", "keep", spec=binding)
    await cluster.clock.advance(5)
    controller = await cluster.start(build, terminated_pod_gc_threshold=1)
    for name in ("a", "b"):
        await cluster.make("v1", "Pod", name, namespace="default", spec=pod_spec)
        patch = {"status": {"phase": "Succeeded"}}
        await cluster.client.patch(tree("v1", "Pod"), name, patch, namespace="default", subresource="status")
    await cluster.clock.advance(2)
    labels = {"namespace": "default", "reason": "terminated"}
    assert cluster.sample(controller, "pod_gc_collector_force_delete_pod_errors_total", labels) >= 1
    assert cluster.sample(controller, "pod_gc_collector_force_delete_pods_total", labels) is None
