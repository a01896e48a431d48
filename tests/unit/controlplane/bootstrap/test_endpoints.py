"""Endpoints and slice of the API servers."""

import copy

import pytest

from steersman.controlplane.bootstrap.endpoints import (
    endpoint_ports,
    plan_endpoints,
    plan_master_count,
    plan_slice,
    without_address,
)

PORTS = endpoint_ports(6443)
OTHER_PORTS = endpoint_ports(16443)
BY_SERVER = [{"manager": "kube-apiserver", "fieldsV1": {"f:subsets": {}}}]
BY_SOMEBODY = [*BY_SERVER, {"manager": "kubectl", "fieldsV1": {"f:subsets": {}}}]


def stored(*addresses, ports=PORTS, managed=BY_SERVER):
    tree = plan_endpoints(None, addresses, ports, correct_ports=True)
    tree["metadata"] |= {"resourceVersion": "3", "managedFields": managed}
    return copy.deepcopy(tree)


def listed(tree):
    return [one["ip"] for subset in tree["subsets"] for one in subset["addresses"]]


def test_endpoints_list_all_addresses_in_order_and_are_not_mirrored():
    plan = plan_endpoints(None, ["192.0.2.9", "192.0.2.10", "192.0.2.9"], PORTS, correct_ports=False)
    assert listed(plan) == ["192.0.2.10", "192.0.2.9"]
    assert plan["subsets"][0]["ports"] == PORTS
    assert plan["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}


def test_plan_endpoints_is_none_when_up_to_date():
    assert plan_endpoints(stored("192.0.2.1"), ["192.0.2.1"], PORTS, correct_ports=True) is None


def test_endpoints_follow_running_servers():
    assert listed(plan_endpoints(stored("192.0.2.1"), ["192.0.2.1", "192.0.2.2"], PORTS, correct_ports=False)) == [
        "192.0.2.1",
        "192.0.2.2",
    ]
    assert plan_endpoints(stored("192.0.2.1"), [], PORTS, correct_ports=False)["subsets"] == []


def test_plan_endpoints_corrects_the_port_at_start_only():
    result = stored("192.0.2.1", ports=OTHER_PORTS)
    assert plan_endpoints(result, ["192.0.2.1"], PORTS, correct_ports=True)["subsets"][0]["ports"] == PORTS
    assert plan_endpoints(result, ["192.0.2.1"], PORTS, correct_ports=False) is None
    spoiled = stored("192.0.2.1", ports=OTHER_PORTS, managed=BY_SOMEBODY)
    assert plan_endpoints(spoiled, ["192.0.2.1"], PORTS, correct_ports=False)["subsets"][0]["ports"] == PORTS


def test_plan_endpoints_replaces_an_unknown_form():
    result = stored("192.0.2.1")
    result["subsets"].append({"addresses": [{"ip": "192.0.2.7"}], "ports": PORTS})
    assert listed(plan_endpoints(result, ["192.0.2.1"], PORTS, correct_ports=False)) == ["192.0.2.1"]


def test_plan_endpoints_restores_the_label():
    result = stored("192.0.2.1")
    result["metadata"]["labels"] = {"mine": "stays"}
    labels = plan_endpoints(result, ["192.0.2.1"], PORTS, correct_ports=False)["metadata"]["labels"]
    assert labels == {"mine": "stays", "endpointslice.kubernetes.io/skip-mirror": "true"}


@pytest.mark.parametrize(
    ("addresses", "own", "remaining"),
    [
        (["192.0.2.1"], "192.0.2.2", ["192.0.2.2"]),
        (["192.0.2.1", "192.0.2.3"], "192.0.2.2", ["192.0.2.1", "192.0.2.2"]),
        (["192.0.2.1", "192.0.2.2"], "192.0.2.3", ["192.0.2.2", "192.0.2.3"]),
        (["192.0.2.1", "192.0.2.2"], "192.0.2.1", None),
    ],
)
def test_master_count_drops_addresses_after_the_own_one(addresses, own, remaining):
    plan = plan_master_count(stored(*addresses), own, PORTS, count=len(remaining or addresses), correct_ports=False)
    assert (plan and listed(plan)) == remaining


def test_master_count_begins_with_our_own():
    assert listed(plan_master_count(None, "192.0.2.2", PORTS, count=3, correct_ports=False)) == ["192.0.2.2"]


def test_plan_endpoints_removes_one_address():
    assert listed(without_address(stored("192.0.2.1", "192.0.2.2"), "192.0.2.1")) == ["192.0.2.2"]
    assert without_address(stored("192.0.2.1"), "192.0.2.1")["subsets"] == []
    assert without_address(stored("192.0.2.1"), "192.0.2.9") is None
    assert without_address(None, "192.0.2.9") is None


def test_plan_slice_mirrors_the_endpoints():
    plan = plan_slice(None, stored("192.0.2.1", "192.0.2.2")).tree
    assert plan["addressType"] == "IPv4"
    assert plan["endpoints"][0] == {"addresses": ["192.0.2.1"], "conditions": {"ready": True}}
    assert plan["ports"] == PORTS
    assert plan["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    assert plan_slice(plan, stored("192.0.2.1", "192.0.2.2")) is None


def test_plan_slice_repairs_a_changed_slice():
    plan = plan_slice(None, stored("192.0.2.1")).tree
    plan["metadata"]["labels"] = {}
    assert plan_slice(plan, stored("192.0.2.1")).tree["metadata"]["labels"]
    assert plan_slice({**plan, "endpoints": []}, stored("192.0.2.1")).tree["endpoints"]


def test_plan_slice_replaces_a_slice_of_another_ip_family():
    new_plan = plan_slice(None, stored("192.0.2.1")).tree
    plan = plan_slice(new_plan, stored("2001:db8::1"))
    assert (plan.replaces, plan.tree["addressType"]) == (True, "IPv6")


def test_plan_slice_is_empty_without_addresses():
    new_plan = plan_slice(None, stored("192.0.2.1")).tree
    plan = plan_slice(new_plan, plan_endpoints(stored("192.0.2.1"), [], PORTS, correct_ports=False))
    assert (plan.tree["endpoints"], plan.tree["ports"]) == ([], [])
