"""Defaults of Pods and Pod templates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import copy

from steersman.apiserver.kinds.shared.podspec.defaults import (
    default_container,
    default_pod,
    default_pod_spec,
    default_pod_template,
    default_probe,
)

amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.com/gpu"]), st.sampled_from(["1", "0.5", "100m", "1Gi", "1.5u", "0"])
)
probes = st.fixed_dictionaries(
    {},
    optional={
        "periodSeconds": st.integers(0, 3),
        "httpGet": st.fixed_dictionaries({"port": st.just(80)}, optional={"path": st.sampled_from(["", "/x"])}),
        "grpc": st.just({"port": 80}),
    },
)
ports = st.fixed_dictionaries(
    {"containerPort": st.integers(1, 9)}, optional={"protocol": st.sampled_from(["", "UDP"]), "hostPort": st.just(7)}
)
containers = st.fixed_dictionaries(
    {"name": st.just("c")},
    optional={
        "image": st.sampled_from(["i", "i:1", ""]),
        "imagePullPolicy": st.sampled_from(["", "Never"]),
        "resources": st.fixed_dictionaries({}, optional={"limits": amounts, "requests": amounts}),
        "ports": st.lists(ports, max_size=2),
        "livenessProbe": probes,
        "lifecycle": st.fixed_dictionaries({}, optional={"preStop": probes}),
        "env": st.lists(st.sampled_from([{"name": "a"}, {"name": "b", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}])),
    },
)
volumes = st.sampled_from(
    [
        {"name": "v"},
        {"name": "v", "secret": {"secretName": "s"}},
        {"name": "v", "hostPath": {"path": "/"}},
        {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "v", "ephemeral": {"volumeClaimTemplate": {}}},
    ]
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "containers": st.lists(containers, max_size=3),
        "initContainers": st.lists(containers, max_size=2),
        "volumes": st.lists(volumes, max_size=3),
        "resources": st.fixed_dictionaries({}, optional={"limits": amounts, "requests": amounts}),
        "serviceAccount": st.sampled_from(["", "old"]),
        "serviceAccountName": st.sampled_from(["", "new"]),
        "hostNetwork": st.booleans(),
        "overhead": amounts,
    },
)


@given(specs)
def test_default_pod_is_idempotent(spec: dict):
    once = {"metadata": {}, "spec": copy(spec)}
    default_pod(once)
    twice = copy(once)
    default_pod(twice)
    assert twice == once


@given(specs)
def test_default_pod_template_is_idempotent(spec: dict):
    once = {"spec": copy(spec)}
    default_pod_template(once)
    twice = copy(once)
    default_pod_template(twice)
    assert twice == once


@given(specs)
def test_default_pod_keeps_given_fields(spec: dict):
    filled = copy(spec)
    default_pod_spec(filled)
    assert set(spec) <= set(filled)


def test_default_pod_spec_sets_spec_fields():
    spec = {"containers": []}
    default_pod_spec(spec)
    assert spec == {
        "containers": [],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
    }


def test_default_pod_spec_sets_container_fields():
    container = {"name": "c", "image": "i:1"}
    default_container(container)
    assert container == {
        "name": "c",
        "image": "i:1",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
    }


def test_default_pod_sets_service_links_of_pods_only():
    pod, template = {"spec": {"containers": []}}, {"spec": {"containers": []}}
    default_pod(pod)
    default_pod_template(template)
    assert (pod["spec"]["enableServiceLinks"], "enableServiceLinks" in template["spec"]) == (True, False)


def test_default_pod_keeps_explicit_values():
    fields = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "enableServiceLinks": False}
    pod = {"spec": {"containers": [], **fields}}
    default_pod(pod)
    assert {name: pod["spec"][name] for name in fields} == fields


def test_default_pod_sets_requests_from_limits_of_pods_only():
    limited = {"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}}
    pod, template = {"spec": {"containers": [copy(limited)]}}, {"spec": {"containers": [copy(limited)]}}
    default_pod(pod)
    default_pod_template(template)
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert template["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m"}


def test_default_pod_sets_no_requests_of_ephemeral_containers():
    pod = {"spec": {"containers": [], "ephemeralContainers": [{"name": "e", "resources": {"limits": {"cpu": "1"}}}]}}
    default_pod(pod)
    assert pod["spec"]["ephemeralContainers"][0]["resources"] == {"limits": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("given_names", "both"),
    [
        ({"serviceAccountName": "new"}, "new"),
        ({"serviceAccount": "old"}, "old"),
        ({"serviceAccountName": "new", "serviceAccount": "old"}, "new"),
    ],
)
def test_sync_service_account_prefers_service_account_name(given_names: dict, both: str):
    default_pod_spec(given_names)
    assert (given_names["serviceAccountName"], given_names["serviceAccount"]) == (both, both)


def test_default_pod_spec_sets_host_ports_with_host_network():
    spec = {"hostNetwork": True, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}
    pod, template = {"spec": copy(spec)}, {"spec": copy(spec)}
    default_pod(pod)
    default_pod_template(template)
    assert pod["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    assert template["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_default_probe_sets_timings():
    probe = {"httpGet": {"port": 80}, "periodSeconds": 0}
    default_probe(probe)
    assert probe == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_default_probe_sets_empty_grpc_service():
    probe = {"grpc": {"port": 80}}
    default_probe(probe)
    assert probe["grpc"] == {"port": 80, "service": ""}


def test_default_container_sets_no_timings_of_lifecycle_hooks():
    container = {"name": "c", "lifecycle": {"postStart": {"httpGet": {"port": 1}}, "preStop": {"exec": {}}}}
    default_container(container)
    assert container["lifecycle"] == {
        "postStart": {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}},
        "preStop": {"exec": {}},
    }


@pytest.mark.parametrize(
    ("source", "filled"),
    [
        (
            {"fieldRef": {"fieldPath": "metadata.name"}},
            {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}},
        ),
        (
            {"resourceFieldRef": {"resource": "limits.cpu"}},
            {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}},
        ),
        ({"fileKeyRef": {"key": "k"}}, {"fileKeyRef": {"key": "k", "optional": False}}),
        ({"secretKeyRef": {"key": "k"}}, {"secretKeyRef": {"key": "k"}}),
    ],
)
def test_default_container_sets_sources_of_env(source: dict, filled: dict):
    container = {"name": "c", "env": [{"name": "e", "valueFrom": source}]}
    default_container(container)
    assert container["env"] == [{"name": "e", "valueFrom": filled}]


def test_drop_init_container_annotations_drops_deprecated_annotations():
    pod = {"metadata": {"annotations": {"pod.beta.kubernetes.io/init-containers": "[]", "a": "b"}}}
    default_pod(pod)
    assert pod["metadata"] == {"annotations": {"a": "b"}}
