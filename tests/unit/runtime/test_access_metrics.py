"""Metrics of delegated access."""

from prometheus_client import CollectorRegistry, generate_latest

from steersman.runtime.access_metrics import AccessMetrics, UnsuffixedCounter


def test_unsuffixed_counter_is_exposed_under_its_own_name():
    registry = CollectorRegistry()
    counter = UnsuffixedCounter("attempts", "Attempts", "result", registry=registry)
    counter.inc("success")
    counter.inc("success")
    assert generate_latest(registry).decode().splitlines() == [
        "# HELP attempts Attempts",
        "# TYPE attempts untyped",
        'attempts{result="success"} 2.0',
    ]


def test_metrics_of_two_guards_need_two_registries():
    first, second = CollectorRegistry(), CollectorRegistry()
    AccessMetrics(first).users.inc("other")
    AccessMetrics(second)
    assert first.get_sample_value("authenticated_user_requests", {"username": "other"}) == 1
    assert second.get_sample_value("authenticated_user_requests", {"username": "other"}) is None
