"""Node ports."""

from steersman.apiserver.kinds.shared.allocation import PortRange
from steersman.controlplane.bootstrap.node_ports import plan_node_ports

PORTS = PortRange(30000, 30009)


def service(name, *ports, health=0):
    listed = [{"nodePort": number, "protocol": protocol} for number, protocol in ports]
    return {"metadata": {"namespace": "n", "name": name}, "spec": {"ports": listed, "healthCheckNodePort": health}}


def plan(services, taken=(), suspects=None):
    return plan_node_ports(services, frozenset(taken), ports=PORTS, suspects=suspects or {})


def summary(result):
    return [(finding.reason, finding.fault, finding.note) for finding in result.findings]


def test_plan_node_ports_is_empty_when_consistent():
    new_plan = plan([service("a", (30001, "TCP"), health=30002), service("b")], [30001, 30002])
    assert (new_plan.changes, new_plan.findings, new_plan.suspects) == (False, (), {})


def test_plan_node_ports_allocates_a_missing_port():
    new_plan = plan([service("a", (30001, "TCP"))])
    assert new_plan.take == {30001}
    assert summary(new_plan) == [("PortNotAllocated", "repair", "Port 30001 is not allocated; repairing")]


def test_plan_node_ports_reports_a_port_of_two_services():
    new_plan = plan([service("a", (30001, "TCP")), service("b", (30001, "TCP"))], [30001])
    note = "Port 30001 was assigned to multiple services; please recreate service"
    assert summary(new_plan) == [("PortAlreadyAllocated", "duplicate", note)]


def test_plan_node_ports_allows_a_port_for_two_protocols():
    assert not plan([service("a", (30001, "TCP"), (30001, "UDP"))], [30001]).findings
    assert plan([service("a", (30001, "TCP"), (30001, "TCP"))], [30001]).findings


def test_plan_node_ports_reports_a_port_out_of_range():
    new_plan = plan([service("a", (80, "TCP"))])
    note = "Port 80 is not within the port range 30000-30009; please recreate service"
    assert (summary(new_plan), new_plan.changes) == ([("PortOutOfRange", "outOfRange", note)], False)


def test_plan_node_ports_releases_a_leak_after_several_passes():
    suspects, passes = {}, 0
    while not (new_plan := plan([], [30001], suspects)).release:
        suspects, passes = new_plan.suspects, passes + 1
    assert (new_plan.release, passes, new_plan.suspects) == ({30001}, 3, {})


def test_plan_node_ports_clears_a_suspect_in_use():
    first = plan([], [30001])
    assert first.suspects == {30001: 2}
    assert plan([service("a", (30001, "TCP"))], [30001], first.suspects).suspects == {}
