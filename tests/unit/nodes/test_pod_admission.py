"""Kubelet admission of pods: each reason, their order, and what accepted pods use."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.nodes.world import NODES, PODS, cluster

from steersman.apimachinery.trees import Tree
from steersman.client import tree
from steersman.client.requests import PatchType
from steersman.nodes.pod_admission import PodAdmission, Rejection


def node(*, taints: list[Tree] | None = None, **allocatable: str) -> Tree:
    labels = {"kubernetes.io/os": "linux", "zone": "a"}
    resources = {"cpu": "2", "memory": "1Gi", "pods": "3", "ephemeral-storage": "1Gi", **allocatable}
    return {
        "metadata": {"name": "n", "labels": labels},
        "spec": {"taints": taints or []},
        "status": {"allocatable": resources},
    }


def pod(
    uid: str, *, ports: list[Tree] | None = None, labels: Tree | None = None, status: Tree | None = None, **spec: Any
) -> Tree:
    requests = spec.pop("requests", {})
    container = {"name": "c", "image": "i", "resources": {"requests": requests}, "ports": ports or []}
    return {
        "metadata": {"name": uid, "namespace": "default", "uid": uid, "labels": labels or {}},
        "spec": {"nodeName": "n", "containers": [container], **spec},
        "status": status or {"phase": "Pending"},
    }


def port(number: int, **fields: str) -> Tree:
    return {"containerPort": 80, "hostPort": number, **fields}


def required(key: str) -> Tree:
    term = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


NO_EXECUTE = [{"key": "dead", "effect": "NoExecute"}]
NOT_ENOUGH = "Node didn't have enough resource: "


@pytest.mark.parametrize(
    ("fields", "reason", "message"),
    [
        ({"requests": {"cpu": "1500m"}}, "OutOfcpu", f"{NOT_ENOUGH}cpu, requested: 1500, used: 1000, capacity: 2000"),
        ({"requests": {"memory": "2Gi"}}, "OutOfmemory", f"{NOT_ENOUGH}memory, requested: 2147483648, used: 0, capacity: 1073741824"),
        ({"requests": {"ephemeral-storage": "2Gi"}}, "OutOfephemeral-storage", f"{NOT_ENOUGH}ephemeral-storage, requested: 2147483648, used: 0, capacity: 1073741824"),
        ({"requests": {"example.com/gpu": "2"}}, "OutOfexample.com/gpu", f"{NOT_ENOUGH}example.com/gpu, requested: 2, used: 0, capacity: 1"),
        ({"requests": {"hugepages-2Mi": "2Mi"}}, "OutOfhugepages-2Mi", f"{NOT_ENOUGH}hugepages-2Mi, requested: 2097152, used: 0, capacity: 0"),
        ({"nodeSelector": {"zone": "b"}}, "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"),
        ({"affinity": required("rack")}, "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"),
        ({"ports": [port(8080)]}, "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"),
        ({"labels": {"kubernetes.io/os": "windows"}}, "PodOSSelectorNodeLabelDoesNotMatch", "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"),
        ({"os": {"name": "windows"}}, "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"),
        ({"requests": {"cpu": "1500m"}, "nodeSelector": {"zone": "b"}}, "OutOfcpu", f"{NOT_ENOUGH}cpu, requested: 1500, used: 1000, capacity: 2000"),
    ],
)  # fmt: skip
def test_admit_rejects_with_the_kubelets_reason(fields: Tree, reason: str, message: str) -> None:
    admission, place = PodAdmission(), node(**{"example.com/gpu": "1"})
    assert admission.admit(pod("first", requests={"cpu": "1"}, ports=[port(8080, hostIP="10.0.0.1")]), place) is None
    assert admission.admit(pod("second", **fields), place) == Rejection(reason, message)


@pytest.mark.parametrize(
    "fields",
    [
        {"requests": {"cpu": "1"}},
        {"requests": {"example.com/unknown": "5"}},
        {"ports": [port(8080, hostIP="10.0.0.2")]},
        {"ports": [port(8080, protocol="UDP")]},
        {"nodeSelector": {"zone": "a"}, "os": {"name": "linux"}},
    ],
)
def test_admit_accepts_pods_that_fit(fields: Tree) -> None:
    admission = PodAdmission()
    assert admission.admit(pod("first", requests={"cpu": "1"}, ports=[port(8080, hostIP="10.0.0.1")]), node()) is None
    assert admission.admit(pod("second", **fields), node()) is None


def test_admit_rejects_more_pods_than_allocatable() -> None:
    admission = PodAdmission()
    assert [admission.admit(pod(f"p{number}"), node()) for number in range(3)] == [None] * 3
    message = f"{NOT_ENOUGH}pods, requested: 1, used: 3, capacity: 3"
    assert admission.admit(pod("p3"), node()) == Rejection("OutOfpods", message)
    assert admission.admit(pod("p0"), node()) is None  # accepted before


def test_admit_checks_only_no_execute_taints() -> None:
    scheduling = node(taints=[{"key": "dead", "effect": "NoSchedule"}])
    assert PodAdmission().admit(pod("p"), scheduling) is None
    rejection = PodAdmission().admit(pod("p"), node(taints=NO_EXECUTE))
    assert rejection is not None
    assert rejection.reason == "TaintToleration"
    tolerating = pod("p", tolerations=[{"operator": "Exists"}])
    assert PodAdmission().admit(tolerating, node(taints=NO_EXECUTE)) is None


def test_admit_ignores_resources_when_nothing_is_allocatable() -> None:
    assert PodAdmission().admit(pod("p", requests={"cpu": "100"}), {"metadata": {"name": "n"}}) is None


@pytest.mark.parametrize("end", ["forget", "finished"])
def test_admission_releases_resources_of_ended_pods(end: str) -> None:
    admission, first = PodAdmission(), pod("first", requests={"cpu": "2"}, ports=[port(8080)])
    second = pod("second", requests={"cpu": "2"}, ports=[port(8080)])
    assert admission.admit(first, node()) is None
    assert admission.admit(second, node()) is not None
    if end == "forget":
        admission.forget("first")
        admission.forget("first")
    else:
        admission.observe({**first, "status": {"phase": "Succeeded"}}, old=first)
    assert admission.admit(second, node()) is None


def test_observe_counts_a_resize_until_it_is_granted() -> None:
    admission, old = PodAdmission(), pod("first", requests={"cpu": "2"})
    assert admission.admit(old, node()) is None
    allocated = {"containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "allocatedResources": {"cpu": "2"}}]}  # fmt: skip
    resized = pod("first", requests={"cpu": "1"}, status={"phase": "Running", **allocated})
    admission.observe(resized, old=old)
    assert admission.admit(pod("second", requests={"cpu": "1"}), node()) is not None
    granted = pod("first", requests={"cpu": "1"}, status={"phase": "Running"})
    admission.observe(granted, old=resized)
    assert admission.admit(pod("second", requests={"cpu": "1"}), node()) is None


def test_adopt_counts_pods_that_were_started_before() -> None:
    admission = PodAdmission()
    admission.adopt(pod("started", requests={"cpu": "2"}, status={"startTime": "2026-01-01T00:00:00Z"}), node())
    admission.adopt(pod("unknown", requests={"cpu": "2"}), node())
    assert admission.admit(pod("new", requests={"cpu": "1"}), node()) is not None


CRITICAL = {"priority": 2_000_000_000}


def test_critical_pod_waits_for_the_pods_that_it_preempts() -> None:
    admission, keys = PodAdmission(), list[str]()
    admission.add_listener(keys.append)
    low = pod("low", requests={"cpu": "1500m"}, status={"phase": "Running", "qosClass": "Burstable"})
    assert admission.admit(low, node()) is None
    critical = pod("critical", requests={"cpu": "1"}, **CRITICAL)
    assert admission.admit(critical, node()) is None
    assert (admission.is_waiting("critical"), admission.is_preempted("low")) == (True, True)
    assert admission.admit(pod("other", requests={"cpu": "1"}), node()) is not None
    assert keys == ["default/low"]
    admission.observe({**low, "status": {"phase": "Failed"}}, old=low)
    assert (admission.is_waiting("critical"), admission.is_preempted("low")) == (False, False)
    assert keys == ["default/low", "default/critical"]


def test_critical_pod_that_is_deleted_preempts_nothing() -> None:
    admission = PodAdmission()
    low = pod("low", requests={"cpu": "2"}, status={"phase": "Running", "qosClass": "Burstable"})
    assert admission.admit(low, node()) is None
    assert admission.admit(pod("critical", requests={"cpu": "1"}, **CRITICAL), node()) is None
    admission.forget("critical")
    assert not admission.is_preempted("low")


def test_two_critical_pods_preempt_different_pods() -> None:
    admission = PodAdmission()
    for name in ("a", "b"):
        low = pod(name, requests={"cpu": "1"}, status={"phase": "Running", "qosClass": "Burstable"})
        assert admission.admit(low, node(pods="9")) is None
    for name in ("x", "y"):
        assert admission.admit(pod(name, requests={"cpu": "1"}, **CRITICAL), node(pods="9")) is None
    assert [admission.is_preempted(name) for name in ("a", "b")] == [True, True]


def test_critical_pod_waits_for_pods_that_end_for_another_one() -> None:
    admission = PodAdmission()
    low = pod("low", requests={"cpu": "2"}, status={"phase": "Running", "qosClass": "Burstable"})
    assert admission.admit(low, node()) is None
    for name in ("x", "y"):
        assert admission.admit(pod(name, requests={"cpu": "1"}, **CRITICAL), node()) is None
        assert admission.is_waiting(name)
    admission.forget("low")
    assert not any(admission.is_waiting(name) for name in ("x", "y"))


def test_critical_pod_that_cannot_fit_is_an_unexpected_admission_error() -> None:
    rejection = PodAdmission().admit(pod("critical", requests={"cpu": "2500m"}, **CRITICAL), node())
    assert rejection == Rejection(
        "UnexpectedAdmissionError",
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods "
        "to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 500), ]",
    )


def test_critical_pod_is_rejected_for_other_reasons_than_resources_first() -> None:
    admission = PodAdmission()
    critical = pod("critical", requests={"cpu": "9"}, nodeSelector={"zone": "b"}, **CRITICAL)
    rejection = admission.admit(critical, node())
    assert rejection is not None
    assert rejection.reason == "NodeAffinity"


async def test_critical_pod_starts_after_a_pod_was_preempted() -> None:
    async with cluster() as world:

        def container(cpu: str) -> Tree:
            return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}

        await world.pod("low", containers=[container("20")])
        await world.pod("small", containers=[container("1")])
        await world.settle(1.0)
        await world.pod("critical", containers=[container("30")], priorityClassName="system-node-critical")
        await world.settle(2.0)
        assert [await world.phase(name) for name in ("low", "small", "critical")] == ["Failed", "Running", "Running"]
        status = (await world.client.get(PODS, "low", namespace="default"))["status"]
        assert (status["reason"], status["message"]) == ("Preempting", "Preempted in order to admit critical pod")
        (disrupted,) = [condition for condition in status["conditions"] if condition["type"] == "DisruptionTarget"]
        assert (disrupted["status"], disrupted["reason"]) == ("True", "TerminationByKubelet")
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
        events = await world.client.list_all(tree("v1", "Event"), namespace="default")
        result = [(event["type"], event["message"]) for event in events if event["reason"] == "Preempting"]
        assert result == [("Warning", "Preempted in order to admit critical pod")]


async def test_pod_that_does_not_fit_fails_with_an_event() -> None:
    async with cluster() as world:
        fitting = {"name": "c", "image": "i", "ports": [port(8080)]}
        await world.pod("first", containers=[fitting])
        await world.settle()
        await world.pod("second", containers=[fitting])
        await world.settle(1.0)
        assert await world.phase("first") == "Running"
        rejected = (await world.client.get(PODS, "second", namespace="default"))["status"]
        message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
        expected = {
            "phase": "Failed",
            "reason": "NodePorts",
            "message": f"Pod was rejected: {message}",
            "qosClass": "BestEffort",
        }
        assert {name: rejected.get(name) for name in expected} == expected
        assert "startTime" in rejected
        assert "containerStatuses" not in rejected
        events = await world.client.list_all(tree("v1", "Event"), namespace="default")
        result = [
            (event["type"], event["reason"], event["message"]) for event in events if event["reason"] == "NodePorts"
        ]
        assert result == [("Warning", "NodePorts", message)]


async def test_pods_of_a_restarted_process_still_use_the_node() -> None:
    async with cluster() as world:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "20"}}}
        await world.pod("first", containers=[container])
        await world.settle(1.0)
        await world.restart()
        await world.pod("second", containers=[container])
        await world.settle(1.0)
        assert await world.phase("first") == "Running"
        status = (await world.client.get(PODS, "second", namespace="default"))["status"]
        assert status["reason"] == "OutOfcpu"
        await world.client.delete(PODS, "first", namespace="default", grace_period_seconds=0)
        await world.settle(1.0)
        await world.pod("third", containers=[container])
        await world.settle(1.0)
        assert await world.phase("third") == "Running"


async def test_extended_resource_of_the_capacity_becomes_allocatable() -> None:
    async with cluster() as world:

        async def advertise(amount: str | None) -> Tree:
            patch = {"status": {"capacity": {"example.com/dongle": amount}}}
            await world.client.patch(NODES, "node-0", patch, patch_type=PatchType.MERGE, subresource="status")
            await world.settle(1.0)
            return (await world.client.get(NODES, "node-0"))["status"]["allocatable"]

        before = (await world.client.get(NODES, "node-0"))["status"]["allocatable"]
        assert await advertise("2") == {**before, "example.com/dongle": "2"}
        assert await advertise("1") == {**before, "example.com/dongle": "1"}
        requests = {"example.com/dongle": "2"}
        container = {"name": "c", "image": "i", "resources": {"requests": requests, "limits": requests}}
        await world.pod("greedy", containers=[container])
        await world.settle(1.0)
        status = (await world.client.get(PODS, "greedy", namespace="default"))["status"]
        assert status["reason"] == "OutOfexample.com/dongle"
        assert await advertise(None) == before
