"""Metrics of APIServices."""

from steersman.apiserver.aggregation.availability import PASSED, failed_discovery
from steersman.apiserver.aggregation.metrics import AvailabilityMetrics


async def test_collect_counts_transitions_and_shows_the_last_outcome():
    metrics = AvailabilityMetrics()
    assert not list(await metrics.collect())
    for outcome in (PASSED, failed_discovery("a"), failed_discovery("b")):
        metrics.observe("v1.a", outcome)
    metrics.observe("v1.b", PASSED)
    unavailable, transitions = await metrics.collect()
    assert list(unavailable.samples) == [("", (("name", "v1.a"),), 1), ("", (("name", "v1.b"),), 0)]
    assert list(transitions.samples) == [("", (("name", "v1.a"), ("reason", "FailedDiscoveryCheck")), 1)]
    metrics.forget("v1.a")
    unavailable, _ = await metrics.collect()
    assert len(unavailable.samples) == 1
