"""Stability levels of metrics."""

import pytest

from steersman.apimachinery.metric_levels import with_level


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("apiserver_request_total", "[STABLE] Requests."),
        ("workqueue_depth", "[BETA] Requests."),
        ("apiserver_cache_list_total", "[ALPHA] Requests."),
        ("controller_runtime_reconcile_total", "Requests."),
        ("steersman_cache_bytes", "Requests."),
        ("process_open_fds", "Requests."),
        ("my_operator_requests_total", "Requests."),
    ],
)
def test_help_begins_with_the_level_of_upstreams_metrics(name, text):
    assert with_level(name, "Requests.") == text
