"""Fields of Services by type."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import copy

from steersman.apiserver.kinds.core.service import fields

LOCAL = {"externalTrafficPolicy": "Local"}


@pytest.mark.parametrize(
    ("spec", "address", "may", "needs", "health", "outside"),
    [
        ({"type": "ClusterIP"}, True, False, False, False, False),
        ({"type": "ClusterIP", "externalIPs": ["1.1.1.1"]}, True, False, False, False, True),
        ({"type": "NodePort"}, True, True, True, False, True),
        ({"type": "NodePort", **LOCAL}, True, True, True, False, True),
        ({"type": "LoadBalancer"}, True, True, True, False, True),
        ({"type": "LoadBalancer", **LOCAL}, True, True, True, True, True),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, True, True, False, False, True),
        ({"type": "ExternalName"}, False, False, False, False, False),
    ],
)
def test_predicates_by_type(spec, address, may, needs, health, outside):
    assert (
        fields.needs_cluster_ip(spec),
        fields.may_have_node_ports(spec),
        fields.needs_node_ports(spec),
        fields.needs_health_check_port(spec),
        fields.is_externally_accessible(spec),
    ) == (address, may, needs, health, outside)


def test_is_headless_for_none():
    assert [fields.is_headless(spec) for spec in ({"clusterIP": "None"}, {"clusterIP": "1.1.1.1"}, {})] == [
        True,
        False,
        False,
    ]


def test_node_ports_are_distinct():
    assert fields.node_ports({"ports": [{"nodePort": 1}, {"nodePort": 1}, {"port": 2}]}) == {1}


@pytest.mark.parametrize(
    ("spec", "old", "ips"),
    [
        ({"clusterIP": "a"}, None, ["a"]),
        ({"clusterIP": "a", "clusterIPs": ["a", "b"]}, None, ["a", "b"]),
        ({}, None, None),
        ({"clusterIP": "a"}, {"clusterIP": "a", "clusterIPs": ["a", "b"]}, ["a", "b"]),
        ({"clusterIP": "c", "clusterIPs": ["a"]}, {"clusterIP": "a", "clusterIPs": ["a"]}, ["c"]),
        ({"clusterIPs": ["a"]}, {"clusterIP": "a", "clusterIPs": ["a"]}, None),
        ({"clusterIP": "c", "clusterIPs": ["d"]}, {"clusterIP": "a", "clusterIPs": ["a"]}, ["d"]),
    ],
    ids=["made from one", "both set", "neither", "left out", "one changed", "one cleared", "both changed"],
)
def test_normalize_cluster_ips_supports_singular_clients(spec: dict, old: dict | None, ips: list[str] | None):
    new = copy(spec)
    fields.normalize_cluster_ips(new, old)
    assert new.get("clusterIPs") == ips


def test_carry_over_allocated_restores_omitted_values():
    old = {
        "type": "LoadBalancer",
        "clusterIP": "a",
        "clusterIPs": ["a"],
        "healthCheckNodePort": 3,
        "ports": [{"name": "x", "port": 1, "nodePort": 2}],
        **LOCAL,
    }
    spec = {"type": "LoadBalancer", "ports": [{"name": "x", "port": 7}], **LOCAL}
    fields.carry_over_allocated(spec, old)
    assert spec == {**old, "ports": [{"name": "x", "port": 7, "nodePort": 2}]}


def test_carry_over_allocated_gives_node_port_to_port_that_requests_it():
    old = {"type": "NodePort", "ports": [{"name": "x", "nodePort": 2}]}
    spec = {"type": "NodePort", "ports": [{"name": "x"}, {"name": "y", "nodePort": 2}]}
    fields.carry_over_allocated(spec, old)
    assert spec["ports"] == [{"name": "x"}, {"name": "y", "nodePort": 2}]


@pytest.mark.parametrize(
    ("old", "spec", "left"),
    [
        (
            {"type": "ClusterIP", "clusterIP": "a", "clusterIPs": ["a"], "ipFamilies": ["IPv4"]},
            {"type": "ExternalName", "clusterIP": "a", "clusterIPs": ["a"], "ipFamilies": ["IPv4"]},
            {"type": "ExternalName"},
        ),
        (
            {"type": "NodePort", "ports": [{"nodePort": 1}], "externalTrafficPolicy": "Cluster"},
            {"type": "ClusterIP", "ports": [{"nodePort": 1}], "externalTrafficPolicy": "Cluster"},
            {"type": "ClusterIP", "ports": [{}]},
        ),
        (
            {"type": "LoadBalancer", "healthCheckNodePort": 3, "loadBalancerClass": "c", **LOCAL},
            {"type": "NodePort", "healthCheckNodePort": 3, "loadBalancerClass": "c", **LOCAL},
            {"type": "NodePort", **LOCAL},
        ),
    ],
    ids=["no address", "no node ports", "no health checks"],
)
def test_drop_unneeded_drops_fields_of_old_type(old: dict, spec: dict, left: dict):
    fields.drop_unneeded(spec, old)
    assert spec == left


@pytest.mark.parametrize(
    ("old", "spec"),
    [
        (
            {"type": "NodePort", "ports": [{"nodePort": 1}]},
            {"type": "ClusterIP", "ports": [{"nodePort": 2}]},
        ),
        (
            {"type": "LoadBalancer", "loadBalancerClass": "c"},
            {"type": "NodePort", "loadBalancerClass": "d"},
        ),
        ({"type": "ClusterIP", "clusterIPs": ["a"]}, {"type": "ExternalName", "clusterIPs": ["b"]}),
    ],
)
def test_drop_unneeded_keeps_changed_fields_for_validation(old: dict, spec: dict):
    before = copy(spec)
    fields.drop_unneeded(spec, old)
    assert spec == before


@pytest.mark.parametrize(("policy", "count"), [("SingleStack", 1), ("PreferDualStack", 2), ("RequireDualStack", 2)])
def test_trim_to_single_stack_drops_second_family(policy: str, count: int):
    spec = {"ipFamilyPolicy": policy, "clusterIPs": ["a", "b"], "ipFamilies": ["IPv4", "IPv6"]}
    fields.trim_to_single_stack(spec, {"ipFamilyPolicy": "PreferDualStack"})
    assert (len(spec["clusterIPs"]), len(spec["ipFamilies"])) == (count, count)
