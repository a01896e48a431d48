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
    made = plan_endpoints(None, ["192.0.2.9", "192.0.2.10", "192.0.2.9"], PORTS, correct_ports=False)
    assert listed(made) == ["192.0.2.10", "192.0.2.9"]
    assert made["subsets"][0]["ports"] == PORTS
    assert made["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}


def test_what_is_as_wanted_is_not_written():
    assert plan_endpoints(stored("192.0.2.1"), ["192.0.2.1"], PORTS, correct_ports=True) is None


def test_addresses_come_and_go_with_their_servers_the_last_one_too():
    assert listed(plan_endpoints(stored("192.0.2.1"), ["192.0.2.1", "192.0.2.2"], PORTS, correct_ports=False)) == [
        "192.0.2.1",
        "192.0.2.2",
    ]
    assert plan_endpoints(stored("192.0.2.1"), [], PORTS, correct_ports=False)["subsets"] == []


def test_a_start_corrects_the_port_later_it_is_left_as_another_server_wrote_it():
    found = stored("192.0.2.1", ports=OTHER_PORTS)
    assert plan_endpoints(found, ["192.0.2.1"], PORTS, correct_ports=True)["subsets"][0]["ports"] == PORTS
    assert plan_endpoints(found, ["192.0.2.1"], PORTS, correct_ports=False) is None
    spoiled = stored("192.0.2.1", ports=OTHER_PORTS, managed=BY_SOMEBODY)
    assert plan_endpoints(spoiled, ["192.0.2.1"], PORTS, correct_ports=False)["subsets"][0]["ports"] == PORTS


def test_a_form_that_servers_never_write_is_made_anew():
    found = stored("192.0.2.1")
    found["subsets"].append({"addresses": [{"ip": "192.0.2.7"}], "ports": PORTS})
    assert listed(plan_endpoints(found, ["192.0.2.1"], PORTS, correct_ports=False)) == ["192.0.2.1"]


def test_the_label_comes_back():
    found = stored("192.0.2.1")
    found["metadata"]["labels"] = {"mine": "stays"}
    labels = plan_endpoints(found, ["192.0.2.1"], PORTS, correct_ports=False)["metadata"]["labels"]
    assert labels == {"mine": "stays", "endpointslice.kubernetes.io/skip-mirror": "true"}


@pytest.mark.parametrize(
    ("there", "own", "left"),
    [
        (["192.0.2.1"], "192.0.2.2", ["192.0.2.2"]),
        (["192.0.2.1", "192.0.2.3"], "192.0.2.2", ["192.0.2.1", "192.0.2.2"]),
        (["192.0.2.1", "192.0.2.2"], "192.0.2.3", ["192.0.2.2", "192.0.2.3"]),
        (["192.0.2.1", "192.0.2.2"], "192.0.2.1", None),
    ],
)
def test_master_count_drops_addresses_after_the_own_one(there, own, left):
    plan = plan_master_count(stored(*there), own, PORTS, count=len(left or there), correct_ports=False)
    assert (plan and listed(plan)) == left


def test_master_count_begins_with_our_own():
    assert listed(plan_master_count(None, "192.0.2.2", PORTS, count=3, correct_ports=False)) == ["192.0.2.2"]


def test_without_address_removes_one_address():
    assert listed(without_address(stored("192.0.2.1", "192.0.2.2"), "192.0.2.1")) == ["192.0.2.2"]
    assert without_address(stored("192.0.2.1"), "192.0.2.1")["subsets"] == []
    assert without_address(stored("192.0.2.1"), "192.0.2.9") is None
    assert without_address(None, "192.0.2.9") is None


def test_the_slice_says_what_the_endpoints_say():
    made = plan_slice(None, stored("192.0.2.1", "192.0.2.2")).tree
    assert made["addressType"] == "IPv4"
    assert made["endpoints"][0] == {"addresses": ["192.0.2.1"], "conditions": {"ready": True}}
    assert made["ports"] == PORTS
    assert made["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    assert plan_slice(made, stored("192.0.2.1", "192.0.2.2")) is None


def test_a_slice_that_somebody_changed_is_put_right():
    made = plan_slice(None, stored("192.0.2.1")).tree
    made["metadata"]["labels"] = {}
    assert plan_slice(made, stored("192.0.2.1")).tree["metadata"]["labels"]
    assert plan_slice({**made, "endpoints": []}, stored("192.0.2.1")).tree["endpoints"]


def test_a_slice_of_another_family_is_replaced():
    made = plan_slice(None, stored("192.0.2.1")).tree
    plan = plan_slice(made, stored("2001:db8::1"))
    assert (plan.replaces, plan.tree["addressType"]) == (True, "IPv6")


def test_no_address_means_an_empty_slice():
    made = plan_slice(None, stored("192.0.2.1")).tree
    plan = plan_slice(made, plan_endpoints(stored("192.0.2.1"), [], PORTS, correct_ports=False))
    assert (plan.tree["endpoints"], plan.tree["ports"]) == ([], [])
