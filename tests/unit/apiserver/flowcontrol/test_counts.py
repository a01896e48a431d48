"""Counters."""

from steersman.apiserver.flowcontrol.counts import FlowCounts, Histogram


def test_histogram_counts_values_in_their_bucket():
    histogram = Histogram((1, 2, 4))
    for value in (1, 1.5, 2, 9):
        histogram.observe(value)
    assert (histogram.buckets, histogram.sum) == ([1, 2, 0, 1], 13.5)


def test_rejections_are_counted_by_reason():
    counts = FlowCounts()
    for reason in ("queue-full", "time-out", "queue-full"):
        counts.reject(reason)
    assert counts.rejected == {"queue-full": 2, "time-out": 1}
