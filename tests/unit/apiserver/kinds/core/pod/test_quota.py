from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.apiserver.kinds.samples import CREATED, NOW

from steersman.apiserver.kinds.core.pod.quota import PodEvaluator, is_alive
from steersman.apiserver.kinds.shared.quota.amounts import texts

PODS = PodEvaluator()


def pod(*resources, status=None, metadata=None, **spec):
    containers = [{"name": f"c{i}", "resources": one} for i, one in enumerate(resources)]
    return {"metadata": metadata or {}, "spec": {"containers": containers, **spec}, "status": status or {}}


def test_usage_counts_requests_and_limits():
    requested = {"requests": {"cpu": "100m", "memory": "1Mi"}, "limits": {"cpu": "1"}}
    assert texts(PODS.usage(pod(requested, requested), NOW)) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "200m",
        "requests.cpu": "200m",
        "limits.cpu": "2",
        "memory": "2Mi",
        "requests.memory": "2Mi",
    }


def test_usage_counts_huge_pages_and_extended_resources():
    requests = {"hugepages-2Mi": "4Mi", "example.com/gpu": "1"}
    usage = texts(PODS.usage(pod({"requests": requests, "limits": requests}), NOW))
    assert usage["hugepages-2Mi"] == usage["requests.hugepages-2Mi"] == "4Mi"
    assert usage["requests.example.com/gpu"] == "1"
    assert "example.com/gpu" not in usage
    assert "limits.hugepages-2Mi" not in usage


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_usage_of_terminated_pod_counts_object_only(phase):
    assert texts(PODS.usage(pod({"requests": {"cpu": "1"}}, status={"phase": phase}), NOW)) == {"count/pods": "1"}


def test_is_alive_is_false_when_deletion_is_overdue():
    deleted = {"deletionTimestamp": CREATED, "deletionGracePeriodSeconds": 60}
    assert is_alive(pod(metadata=deleted), NOW)
    assert not is_alive(pod(metadata=deleted), NOW + timedelta(seconds=1))
    assert is_alive(pod(metadata={"deletionTimestamp": CREATED}), NOW)
    assert is_alive(pod(metadata=deleted | {"deletionGracePeriodSeconds": 2**63 - 1}), NOW)


def test_matching_resources_of_pods():
    names = ["pods", "count/pods", "limits.cpu", "requests.hugepages-2Mi", "hugepages-2Mi", "requests.example.com/gpu"]
    assert PODS.matching([*names, "services", "requests.storage", "example.com/gpu"]) == sorted(names)


@pytest.mark.parametrize(
    ("resources", "required", "text"),
    [
        ([{}], ["pods"], ""),
        ([{}], ["requests.cpu"], "must specify requests.cpu for: c0"),
        ([{"requests": {"cpu": "1"}}, {}], ["cpu"], "must specify cpu for: c1"),
        ([{}, {}], ["limits.cpu", "limits.memory"], "must specify limits.cpu for: c0,c1; limits.memory for: c0,c1"),
        ([{"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}], ["cpu", "requests.cpu", "limits.cpu"], ""),
        ([{}], ["ephemeral-storage"], ""),
    ],
)
def test_fault_requires_resources_of_each_container(resources, required, text):
    assert PODS.fault(required, pod(*resources)) == text


def test_fault_accepts_pod_level_resources():
    assert PODS.fault(["requests.cpu"], pod({}, resources={"requests": {"cpu": "1"}})) == ""


def test_fault_requires_nothing_of_containers_when_any_pod_level_resource_is_set():
    required = ["limits.cpu", "limits.memory", "requests.memory"]
    assert PODS.fault(required, pod({}, resources={"requests": {"cpu": "1"}})) == ""
    assert PODS.fault(required, pod({}, resources={"limits": {"hugepages-2Mi": "2Mi"}})) == ""
    assert PODS.fault(["limits.cpu"], pod({}, resources={})) == "must specify limits.cpu for: c0"


def test_usage_counts_implicit_extended_resources_of_device_classes():
    name = "deviceclass.resource.kubernetes.io/gpu"
    usage = texts(PODS.usage(pod({"requests": {name: "2"}, "limits": {name: "2"}}), NOW))
    assert usage[f"requests.{name}"] == "2"
    assert name not in usage
    assert PODS.matching([name, f"requests.{name}", "requests.kubernetes.io/other"]) == [f"requests.{name}"]


def test_usage_during_a_resize_counts_actual_resources():
    status = {"containerStatuses": [{"name": "c0", "resources": {"requests": {"cpu": "2"}}}]}
    assert texts(PODS.usage(pod({"requests": {"cpu": "1"}}, status=status), NOW))["requests.cpu"] == "2"


def term(**parts):
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", **parts}]}}


@pytest.mark.parametrize(
    ("scope", "obj", "inside"),
    [
        ("Terminating", pod(activeDeadlineSeconds=0), True),
        ("Terminating", pod(), False),
        ("NotTerminating", pod(), True),
        ("NotTerminating", pod(activeDeadlineSeconds=5), False),
        ("BestEffort", pod({}), True),
        ("BestEffort", pod({"requests": {"cpu": "1"}}), False),
        ("NotBestEffort", pod({"requests": {"cpu": "1"}}), True),
        ("PriorityClass", pod(priorityClassName="a"), True),
        ("PriorityClass", pod(), False),
        ("CrossNamespacePodAffinity", pod(affinity=term(namespaces=["x"])), True),
        ("CrossNamespacePodAffinity", pod(affinity=term(namespaceSelector={})), True),
        ("CrossNamespacePodAffinity", pod(affinity=term()), False),
        ("VolumeAttributesClass", pod(), False),
    ],
)
def test_is_in_scope_matches_scopes(scope, obj, inside):
    assert PODS.is_in_scope({"scopeName": scope, "operator": "Exists"}, obj) is inside


def test_is_in_scope_considers_preferred_affinity_terms():
    weighted = {"weight": 1, "podAffinityTerm": {"topologyKey": "k", "namespaces": ["x"]}}
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}
    assert PODS.is_in_scope({"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}, pod(affinity=affinity))
