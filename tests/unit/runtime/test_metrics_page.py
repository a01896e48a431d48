"""Exposition of the metrics of a component."""

from prometheus_client import CollectorRegistry, Gauge

from steersman.runtime.metrics_page import exposition


def test_help_texts_begin_with_the_stability_level():
    registry = CollectorRegistry()
    Gauge("workqueue_depth", "Keys", registry=registry).set(1)
    Gauge("my_gauge", "Mine", registry=registry)
    assert exposition(registry).decode().splitlines() == [
        "# HELP workqueue_depth [BETA] Keys",
        "# TYPE workqueue_depth gauge",
        "workqueue_depth 1.0",
        "# HELP my_gauge Mine",
        "# TYPE my_gauge gauge",
        "my_gauge 0.0",
    ]
