"""Counters of allocations."""

from ipaddress import ip_network

from steersman.apiserver.kinds.core.service.allocator_metrics import DYNAMIC, STATIC, AllocatorMetrics
from steersman.apiserver.kinds.shared.allocation import AddressRange, PortTally

RANGE = AddressRange(ip_network("10.0.0.0/28"))


def test_addresses_are_counted_by_range_and_scope():
    metrics = AllocatorMetrics()
    metrics.address_allocated(RANGE, STATIC, 0.003)
    metrics.address_allocated(RANGE, DYNAMIC, 0.3)
    metrics.address_failed(RANGE, STATIC)
    assert metrics.addresses == {("10.0.0.0/28", "static"): 1, ("10.0.0.0/28", "dynamic"): 1}
    assert metrics.address_errors == {("10.0.0.0/28", "static"): 1}
    assert metrics.address_seconds["10.0.0.0/28",].count == 2


def test_only_scopes_with_ports_are_counted():
    metrics, tally = AllocatorMetrics(), PortTally()
    tally.static, tally.dynamic_errors = 2, 1
    metrics.count_ports(tally)
    assert metrics.ports == {("static",): 2}
    assert metrics.port_errors == {("dynamic",): 1}
