"""Cluster IPs and their objects."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network

import pytest

from steersman.controlplane.bootstrap.cluster_ips import (
    address_object,
    index_objects,
    plan_address,
    plan_everything,
    plan_service_addresses,
    service_ranges,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RANGES = [ip_network("10.0.0.0/24")]


def service(name, *ips, **spec):
    return {
        "metadata": {"namespace": "n", "name": name},
        "spec": {"clusterIP": ips[0], "clusterIPs": list(ips), **spec},
    }


def address(ip, owner="a", *, age_seconds=3600.0, **reference):
    tree = address_object(ip_address(ip), service(owner, ip))
    tree["metadata"]["creationTimestamp"] = (NOW - timedelta(seconds=age_seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    tree["spec"]["parentRef"] |= reference
    return tree


def check_service(one, *addresses, others=()):
    return plan_service_addresses(one, index_objects([one, *others], addresses, RANGES))


def check_address(one, *services):
    return plan_address(one, index_objects(services, [one], RANGES), now=NOW)


def summary(plan):
    return [(finding.reason, finding.fault, finding.note) for finding in plan.findings]


def planned_addresses(plan):
    return [(tree["metadata"]["name"], tree["spec"]["parentRef"]["name"]) for tree in plan.make]


# -- Services ----------------------------------------------------------------------------------------------------------


def test_plan_service_is_empty_for_a_consistent_service():
    plan = check_service(service("a", "10.0.0.5"), address("10.0.0.5"))
    assert (plan.findings, plan.changes) == ((), False)


@pytest.mark.parametrize("spec", [{"clusterIP": "None", "clusterIPs": ["None"]}, {"type": "ExternalName"}, {}])
def test_services_without_addresses_are_fine(spec):
    assert check_service({"metadata": {"namespace": "n", "name": "a"}, "spec": spec}).findings == ()


def test_plan_service_recreates_a_missing_address():
    plan = check_service(service("a", "10.0.0.5"))
    assert summary(plan) == [
        ("ClusterIPNotAllocated", "repair", "Cluster IP [IPv4]: 10.0.0.5 is not allocated; repairing")
    ]
    assert planned_addresses(plan) == [("10.0.0.5", "a")]
    assert plan.make[0]["metadata"]["labels"]["ipaddress.kubernetes.io/ip-family"] == "IPv4"


@pytest.mark.parametrize("reference", [{"resource": "pods"}, {"group": "x"}, {"name": "gone"}, {"namespace": "other"}])
def test_plan_service_replaces_an_address_with_a_wrong_parent(reference):
    plan = check_service(service("a", "10.0.0.5"), address("10.0.0.5", **reference))
    note = "the ClusterIP [IPv4]: 10.0.0.5 for Service n/a has a wrong reference; repairing"
    assert summary(plan) == [("ClusterIPNotAllocated", "repair", note)]
    assert (len(plan.remove), planned_addresses(plan)) == (1, [("10.0.0.5", "a")])


def test_plan_service_reassigns_an_address_of_another_service():
    plan = check_service(service("a", "10.0.0.5"), address("10.0.0.5", "b"), others=[service("b", "10.0.0.6")])
    assert planned_addresses(plan) == [("10.0.0.5", "a")]


def test_plan_service_reports_an_address_of_two_services():
    plan = check_service(service("a", "10.0.0.5"), address("10.0.0.5", "b"), others=[service("b", "10.0.0.5")])
    note = "Cluster IP [IPv4]:10.0.0.5 was assigned to multiple services; please recreate service"
    assert (summary(plan), plan.changes) == ([("ClusterIPAlreadyAllocated", "duplicate", note)], False)


def test_plan_service_reports_an_address_out_of_range():
    plan = check_service(service("a", "10.9.0.5"))
    note = "Cluster IP [IPv4]: 10.9.0.5 is not within any configured Service CIDR; please recreate service"
    assert (summary(plan), plan.changes) == ([("ClusterIPOutOfRange", "outOfRange", note)], False)


def test_plan_service_reports_an_invalid_address():
    plan = check_service(service("a", "10.0.0.5x"))
    note = "Cluster IP 10.0.0.5x is not a valid IP; please recreate Service"
    assert (summary(plan), plan.changes) == ([("ClusterIPNotValid", "invalid", note)], False)


def test_plan_service_repairs_valid_addresses_beside_invalid_ones():
    assert planned_addresses(check_service(service("a", "10.9.0.5", "10.0.0.5"))) == [("10.0.0.5", "a")]


@pytest.mark.parametrize("label", ["ipaddress.kubernetes.io/ip-family", "ipaddress.kubernetes.io/managed-by"])
def test_plan_service_replaces_an_unlabelled_address_without_event(label):
    spoiled = address("10.0.0.5")
    del spoiled["metadata"]["labels"][label]
    plan = check_service(service("a", "10.0.0.5"), spoiled)
    assert (plan.findings, len(plan.remove), planned_addresses(plan)) == ((), 1, [("10.0.0.5", "a")])


# -- addresses ---------------------------------------------------------------------------------------------------------


def test_plan_address_is_empty_for_a_consistent_address():
    assert check_address(address("10.0.0.5"), service("a", "10.0.0.5")).findings == ()


def test_plan_address_ignores_addresses_of_other_managers():
    foreign = address("10.0.0.5", "gone")
    foreign["metadata"]["labels"] = {}
    assert check_address(foreign).findings == ()


def test_ip_address_without_service_is_deleted_after_its_grace_period():
    young = check_address(address("10.0.0.5", age_seconds=59))
    assert (young.changes, young.again_seconds) == (False, 2)
    assert check_address(address("10.0.0.5", age_seconds=60)).again_seconds == 1
    old = check_address(address("10.0.0.5", age_seconds=61))
    note = "IPAddress: 10.0.0.5 for Service n/a appears to have leaked: cleaning up"
    assert (summary(old), len(old.remove)) == ([("IPAddressNotAllocated", "leak", note)], 1)


def test_plan_address_removes_an_address_without_service():
    plan = check_address(address("10.0.0.5", resource="pods", group="x"))
    note = "IPAddress 10.0.0.5 appears to have been modified, not referencing a Service pods.x/n/a: cleaning up"
    assert (summary(plan), len(plan.remove)) == ([("IPAddressNotAllocated", "leak", note)], 1)


def test_plan_address_removes_an_address_that_its_service_lacks():
    plan = check_address(address("10.0.0.5"), service("a", "10.0.0.6"))
    note = "IPAddress: 10.0.0.5 for Service n/a has a wrong reference; cleaning up"
    assert (summary(plan), len(plan.remove)) == ([("IPAddressWrongReference", "repair", note)], 1)


# -- both --------------------------------------------------------------------------------------------------------------


def test_pass_checks_services_and_addresses():
    services = [service("a", "10.0.0.5"), service("b", "10.0.0.6")]
    addresses = [address("10.0.0.6", "b"), address("10.0.0.7")]
    plans = [plan for plan in plan_everything(services, addresses, RANGES, now=NOW) if plan.changes]
    assert [planned_addresses(plan) for plan in plans] == [[("10.0.0.5", "a")], []]
    assert [tree["metadata"]["name"] for tree in plans[1].remove] == ["10.0.0.7"]


def test_ranges_are_our_own_and_those_of_objects():
    cidrs = [{"spec": {"cidrs": ["10.0.0.0/24", "fd00::/112"]}}, {"spec": {"cidrs": ["nonsense"]}}]
    assert service_ranges(cidrs, RANGES) == [*RANGES, ip_network("fd00::/112")]
