"""Counters."""

from steersman.apiserver.flowcontrol.counts import FlowCounts, Histogram


def test_values_fall_under_the_first_bound_that_is_not_below_them():
    histogram = Histogram((1, 2, 4))
    for value in (1, 1.5, 2, 9):
        histogram.observe(value)
    assert (histogram.buckets, histogram.sum) == ([1, 2, 0, 1], 13.5)


def test_refusals_are_counted_by_reason():
    counts = FlowCounts()
    for reason in ("queue-full", "time-out", "queue-full"):
        counts.reject(reason)
    assert counts.rejected == {"queue-full": 2, "time-out": 1}
