"""Counters."""

from steersman.apiserver.flowcontrol.counts import FlowCounts


def test_rejections_are_counted_by_reason():
    counts = FlowCounts()
    for reason in ("queue-full", "time-out", "queue-full"):
        counts.reject(reason)
    assert counts.rejected == {"queue-full": 2, "time-out": 1}
