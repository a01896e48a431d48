"""Node ports."""

from steersman.apiserver.kinds.shared.allocation import PortRange
from steersman.controlplane.bootstrap.node_ports import plan_node_ports

PORTS = PortRange(30000, 30009)


def service(name, *ports, health=0):
    listed = [{"nodePort": number, "protocol": protocol} for number, protocol in ports]
    return {"metadata": {"namespace": "n", "name": name}, "spec": {"ports": listed, "healthCheckNodePort": health}}


def plan(services, taken=(), suspects=None):
    return plan_node_ports(services, frozenset(taken), ports=PORTS, suspects=suspects or {})


def summary(made):
    return [(finding.reason, finding.fault, finding.note) for finding in made.findings]


def test_what_services_have_and_the_allocator_holds_is_fine():
    made = plan([service("a", (30001, "TCP"), health=30002), service("b")], [30001, 30002])
    assert (made.changes, made.findings, made.suspects) == (False, (), {})


def test_a_port_that_is_not_allocated_is_taken():
    made = plan([service("a", (30001, "TCP"))])
    assert made.take == {30001}
    assert summary(made) == [("PortNotAllocated", "repair", "Port 30001 is not allocated; repairing")]


def test_a_port_of_two_services_is_told():
    made = plan([service("a", (30001, "TCP")), service("b", (30001, "TCP"))], [30001])
    note = "Port 30001 was assigned to multiple services; please recreate service"
    assert summary(made) == [("PortAlreadyAllocated", "duplicate", note)]


def test_two_protocols_may_share_a_port_one_protocol_may_not():
    assert not plan([service("a", (30001, "TCP"), (30001, "UDP"))], [30001]).findings
    assert plan([service("a", (30001, "TCP"), (30001, "TCP"))], [30001]).findings


def test_a_port_outside_the_range_is_told_and_not_taken():
    made = plan([service("a", (80, "TCP"))])
    note = "Port 80 is not within the port range 30000-30009; please recreate service"
    assert (summary(made), made.changes) == ([("PortOutOfRange", "outOfRange", note)], False)


def test_a_leak_is_released_after_several_passes_only():
    suspects, passes = {}, 0
    while not (made := plan([], [30001], suspects)).release:
        suspects, passes = made.suspects, passes + 1
    assert (made.release, passes, made.suspects) == ({30001}, 3, {})


def test_a_suspect_that_turns_out_to_be_used_is_none():
    first = plan([], [30001])
    assert first.suspects == {30001: 2}
    assert plan([service("a", (30001, "TCP"))], [30001], first.suspects).suspects == {}
