"""Process metrics."""

from steersman.apiserver.observability import process_metrics


async def test_collect_returns_memory_time_and_files():
    values = {family.name: family.samples[0][2] for family in await process_metrics.collect()}
    assert values["process_resident_memory_bytes"] > 1 << 20
    assert values["process_start_time_seconds"] > 1_500_000_000
    assert values["process_open_fds"] > 2
    assert values["process_cpu_seconds_total"] > 0
