"""Filtered registries, in the text format."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from steersman.apimachinery.metric_filter import make_metric_filter
from steersman.runtime.filtered_metrics import FilteredRegistry


def text(metric_filter):
    disable_created_metrics()
    registry = CollectorRegistry()
    counter = Counter("requests_total", "Requests", ("verb",), registry=registry)
    seconds = Histogram("seconds", "Seconds", ("verb",), registry=registry, buckets=(1,))
    for verb in ("GET", "PUT", "PATCH"):
        counter.labels(verb).inc()
        seconds.labels(verb).observe(0.5)
    Gauge("depth", "Depth", registry=registry).set(1)
    return generate_latest(FilteredRegistry(registry, metric_filter)).decode().splitlines()


def test_disabled_metrics_are_absent():
    lines = text(make_metric_filter(["requests_total", "depth"], {}))
    assert not [line for line in lines if "requests" in line or "depth" in line]
    assert 'seconds_count{verb="GET"} 1.0' in lines


def test_label_values_are_constrained():
    lines = text(make_metric_filter([], {"requests_total,verb": "GET", "seconds,verb": "GET"}))
    assert {
        'requests_total{verb="GET"} 1.0',
        'requests_total{verb="unexpected"} 2.0',
        'seconds_bucket{le="1.0",verb="unexpected"} 2.0',
        'seconds_count{verb="unexpected"} 2.0',
        "depth 1.0",
    } <= set(lines)
    assert not [line for line in lines if "PUT" in line]
