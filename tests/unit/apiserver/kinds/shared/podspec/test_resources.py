"""Requests, limits and the QoS class."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.quantity import parse
from steersman.apiserver.kinds.shared.podspec.resources import (
    container_totals,
    default_pod_level_resources,
    default_requests_from_limits,
    is_pod_level_resource,
    is_sidecar,
    pod_totals,
    qos_class,
    round_resource_list,
)


def container_requesting(cpu: str, **more: str) -> dict:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


def container_with(requests: dict | None = None, limits: dict | None = None) -> dict:
    parts = {"requests": requests, "limits": limits}
    return {"name": "c", "resources": {name: part for name, part in parts.items() if part is not None}}


@pytest.mark.parametrize(
    ("amount", "rounded"),
    [
        ("1", "1"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1u", "1m"),
        ("1n", "1m"),
        ("1100u", "2m"),
        ("1Gi", "1Gi"),
        ("1e3", "1e3"),
    ],
)
def test_round_resource_list_rounds_up_to_milli_units(amount: str, rounded: str):
    amounts = {"cpu": amount}
    round_resource_list(amounts)
    assert amounts == {"cpu": rounded}


@given(st.integers(1, 10**12), st.sampled_from(["n", "u", "m", "", "k", "Ki"]))
def test_round_resource_list_never_decreases_amounts(number: int, suffix: str):
    amounts = {"cpu": f"{number}{suffix}"}
    round_resource_list(amounts)
    assert parse(amounts["cpu"]) >= parse(f"{number}{suffix}")


def test_default_requests_from_limits_sets_missing_requests_only():
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    default_requests_from_limits(resources)
    assert resources["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_container_totals_add_containers_and_sidecars():
    spec = {
        "containers": [container_requesting("1"), container_requesting("2")],
        "initContainers": [container_requesting("4", restartPolicy="Always")],
    }
    assert container_totals(spec, "requests") == {"cpu": parse("7")}


@pytest.mark.parametrize(
    ("inits", "total"),
    [
        ([container_requesting("1")], "3"),
        ([container_requesting("5"), container_requesting("4")], "5"),
        ([container_requesting("1", restartPolicy="Always"), container_requesting("5")], "6"),
        ([container_requesting("5"), container_requesting("1", restartPolicy="Always")], "5"),
        ([container_requesting("1", restartPolicy="Always"), container_requesting("1")], "4"),
    ],
)
def test_container_totals_add_init_container_to_preceding_sidecars(inits: list[dict], total: str):
    spec = {"containers": [container_requesting("3")], "initContainers": inits}
    assert container_totals(spec, "requests") == {"cpu": parse(total)}


def test_pod_totals_prefer_pod_level_values_and_add_overhead():
    spec = {
        "containers": [container_requesting("1")],
        "resources": {"requests": {"cpu": "2"}},
        "overhead": {"cpu": "100m", "memory": "1"},
    }
    assert pod_totals(spec, "requests") == {"cpu": parse("2100m"), "memory": parse("1")}
    assert pod_totals(spec, "limits") == {}


@pytest.mark.parametrize(
    ("name", "may"),
    [("cpu", True), ("memory", True), ("hugepages-2Mi", True), ("example.com/gpu", False), ("pods", False)],
)
def test_is_pod_level_resource_for_cpu_memory_and_huge_pages(name: str, may: bool):
    assert is_pod_level_resource(name) is may


@pytest.mark.parametrize(
    ("own", "requests"),
    [
        ({"limits": {"cpu": "4"}}, {"cpu": "3", "memory": "1Gi"}),
        ({"limits": {"memory": "4Gi"}}, {"cpu": "3", "memory": "1Gi"}),
        ({"requests": {"cpu": "5"}, "limits": {"cpu": "6"}}, {"cpu": "5", "memory": "1Gi"}),
        ({"requests": {"cpu": "5"}}, {"cpu": "5"}),
    ],
)
def test_default_pod_level_resources_sets_requests_from_containers(own: dict, requests: dict):
    spec = {
        "containers": [container_requesting("1"), container_requesting("2"), container_with({"memory": "1Gi"})],
        "resources": own,
    }
    default_pod_level_resources(spec)
    assert spec["resources"]["requests"] == requests


def test_default_pod_level_resources_sets_requests_from_limits_without_container_requests():
    spec = {"containers": [container_with()], "resources": {"limits": {"cpu": "4"}}}
    default_pod_level_resources(spec)
    assert spec["resources"] == {"limits": {"cpu": "4"}, "requests": {"cpu": "4"}}


def test_default_pod_level_resources_keeps_huge_pages_limits_when_requested():
    pages = {"hugepages-2Mi": "4Mi"}
    spec = {"containers": [container_with(dict(pages), dict(pages))], "resources": {"requests": dict(pages)}}
    default_pod_level_resources(spec)
    assert spec["resources"] == {"requests": pages}


def test_default_pod_level_resources_sets_huge_pages_limits_from_containers():
    pages = {"hugepages-2Mi": "4Mi"}
    spec = {"containers": [container_with(dict(pages), dict(pages))], "resources": {"limits": {"cpu": "1"}}}
    default_pod_level_resources(spec)
    assert spec["resources"] == {"limits": {"cpu": "1", **pages}, "requests": {"cpu": "1", **pages}}


@pytest.mark.parametrize(
    ("spec", "quality"),
    [
        ({"containers": [container_with()]}, "BestEffort"),
        ({"containers": [container_with({"cpu": "0"})]}, "BestEffort"),
        ({"containers": [container_with({"example.com/gpu": "1"}, {"example.com/gpu": "1"})]}, "BestEffort"),
        ({"containers": [container_with({"cpu": "1"})]}, "Burstable"),
        ({"containers": [container_with({"cpu": "1", "memory": "1"}, {"cpu": "1", "memory": "1"})]}, "Guaranteed"),
        ({"containers": [container_with({"cpu": "1000m", "memory": "1"}, {"cpu": "1", "memory": "1"})]}, "Guaranteed"),
        ({"containers": [container_with({"cpu": "1", "memory": "1"}, {"cpu": "2", "memory": "1"})]}, "Burstable"),
        ({"containers": [container_with({"cpu": "1"}, {"cpu": "1"})]}, "Burstable"),
        (
            {
                "containers": [
                    container_with({"cpu": "1", "memory": "1"}, {"cpu": "1", "memory": "1"}),
                    container_with(),
                ]
            },
            "Burstable",
        ),
        (
            {
                "containers": [container_with({"cpu": "1", "memory": "1"}, {"cpu": "1", "memory": "1"})],
                "initContainers": [container_with({"cpu": "1"})],
            },
            "Burstable",
        ),
        (
            {
                "containers": [container_with()],
                "resources": {"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}},
            },
            "Guaranteed",
        ),
    ],
)
def test_qos_class_by_requests_and_limits(spec: dict, quality: str):
    assert qos_class(spec) == quality


@pytest.mark.parametrize(
    ("policy", "goes_on"), [({}, False), ({"restartPolicy": "Always"}, True), ({"restartPolicy": "Never"}, False)]
)
def test_is_sidecar_requires_restart_policy_always(policy: dict, goes_on: bool):
    assert is_sidecar(policy) is goes_on
