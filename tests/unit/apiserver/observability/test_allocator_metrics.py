"""Metrics of allocators."""

from tests.unit.apiserver.services import FOUR, Cluster

from steersman.apiserver.kinds.core.service.allocator_metrics import AllocatorMetrics
from steersman.apiserver.observability.allocator_metrics import AllocatorMetricsCollector
from steersman.storage.store import StoreError


async def samples(metrics, allocator):
    families = await AllocatorMetricsCollector(metrics, lambda: allocator).collect()
    return {
        (family.name.removeprefix("kube_apiserver_"), *(value for _, value in labels)): number
        for family in families
        for suffix, labels, number in family.samples
        if suffix in ("", "_count")
    }


async def test_allocated_and_available_values_are_read_from_the_store():
    cluster = Cluster()
    await cluster.create("a", type="NodePort", ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "b"}])
    await cluster.create("b")
    values = await samples(AllocatorMetrics(), cluster.allocator)
    assert values["clusterip_allocator_allocated_ips", FOUR] == 2
    assert values["clusterip_allocator_available_ips", FOUR] == 12
    assert values["nodeport_allocator_allocated_ports",] == 2
    assert values["nodeport_allocator_available_ports",] == 30


class UnreadableStore:
    """Allocator whose store does not answer."""

    async def allocated_addresses(self):
        raise StoreError("no answer")


async def test_counters_are_exposed_while_the_store_does_not_answer():
    metrics = AllocatorMetrics()
    metrics.ports["static",] = 3
    assert await samples(metrics, UnreadableStore()) == {("nodeport_allocator_allocation_total", "static"): 3}
