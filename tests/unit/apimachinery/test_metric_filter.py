"""Metrics and label values that are left out."""

import pytest

from steersman.apimachinery.metric_filter import NO_FILTER, make_metric_filter

SAMPLES = [
    ("", (("code", "200"), ("verb", "GET")), 1.0),
    ("", (("code", "200"), ("verb", "LIST")), 2.0),
    ("", (("code", "200"), ("verb", "WATCH")), 4.0),
]


def test_values_that_are_not_allowed_become_one_sample():
    metric_filter = make_metric_filter([], {"requests_total,verb": "GET,PUT"})
    get, other = SAMPLES[0], (("code", "200"), ("verb", "unexpected"))
    assert metric_filter.constrain("requests_total", SAMPLES, adds=True) == [get, ("", other, 6.0)]
    assert metric_filter.constrain("requests_total", SAMPLES, adds=False) == [get, ("", other, 4.0)]


def test_labels_are_constrained_by_metric():
    metric_filter = make_metric_filter([], {"a,verb": "GET", "a,code": "500"})
    assert metric_filter.constrain("b", SAMPLES, adds=True) is SAMPLES
    assert metric_filter.constrain("a", SAMPLES[:1], adds=True) == [
        ("", (("code", "unexpected"), ("verb", "GET")), 1.0)
    ]


@pytest.mark.parametrize("key", ["verb", "a,b,c", "a,", ",b", "1a,b", "a,b:c"])
def test_malformed_keys_are_rejected(key):
    with pytest.raises(ValueError, match="must have a list of kv pair with format"):
        make_metric_filter([], {key: "x"})


def test_filter_is_false_without_effect():
    assert not NO_FILTER
    assert make_metric_filter(["a"], {})
