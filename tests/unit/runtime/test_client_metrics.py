import pytest
from prometheus_client import CollectorRegistry

from steersman.runtime.client_metrics import PrometheusClientMetrics


@pytest.mark.parametrize(
    ("series", "labels", "value"),
    [
        ("rest_client_requests_total", {"code": "200", "method": "GET"}, 2),
        ("rest_client_requests_total", {"code": "<error>", "method": "GET"}, 1),
        ("rest_client_request_duration_seconds_sum", {"verb": "GET"}, 3),
        ("rest_client_request_size_bytes_count", {"verb": "POST"}, 1),
        ("rest_client_request_size_bytes_count", {"verb": "GET"}, None),
        ("rest_client_request_size_bytes_bucket", {"verb": "POST", "le": "4096.0"}, 0),
        ("rest_client_request_size_bytes_bucket", {"verb": "POST", "le": "16384.0"}, 1),
        ("rest_client_response_size_bytes_sum", {"verb": "GET"}, 100),
        ("rest_client_request_retries_total", {"code": "429", "verb": "POST"}, 1),
        ("rest_client_rate_limiter_duration_seconds_sum", {"verb": "POST"}, 0.5),
    ],
)
def test_client_metrics_have_client_gos_names(series, labels, value):
    registry = CollectorRegistry()
    metrics = PrometheusClientMetrics(registry)
    for code in ("200", "200", "<error>"):
        metrics.request_done(method="GET", host="h", code=code, duration_seconds=1)
    metrics.transferred(method="POST", host="h", request_bytes=5000, response_bytes=6000)
    metrics.transferred(method="GET", host="h", request_bytes=None, response_bytes=100)
    metrics.retried(method="POST", host="h", code="429")
    metrics.throttled(method="POST", host="h", waited_seconds=0.5)
    assert registry.get_sample_value(series, labels | {"host": "h"}) == value
