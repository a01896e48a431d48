from __future__ import annotations

import pytest

from steersman.apimachinery.histogram import Histogram, exponential_bounds


def test_values_are_counted_in_the_first_bucket_that_holds_them():
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 3.0):
        histogram.observe(value)
    assert (histogram.counts, histogram.count, histogram.total) == ([2, 1, 1], 4, 6.0)


def test_buckets_cumulate_counts_under_labels_of_the_shortest_form():
    histogram = Histogram((0, 0.0001, 0.5, 5242.88, 1000000))
    for value in (0.5, 0.25, 6000, 1e9):
        histogram.observe(value)
    assert histogram.buckets() == [("0", 0), ("0.0001", 0), ("0.5", 2), ("5242.88", 2), ("1000000", 3), ("+Inf", 4)]


def test_histograms_are_added():
    first, second = Histogram((1.0,)), Histogram((1.0,))
    first.observe(0.5)
    second.observe(2.0)
    first.add(second)
    assert (first.counts, first.total) == ([1, 1], 2.5)


def test_exponential_bounds_grow_by_the_factor():
    assert exponential_bounds(5e-6, 2, 3) == pytest.approx((5e-6, 1e-5, 2e-5))
