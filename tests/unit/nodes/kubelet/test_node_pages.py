"""Pages of the kubelet about one node."""

import json

import pytest
from tests.unit.nodes.metrics.samples import NODE, NOW, running

from steersman.asynckit.clock import FakeClock
from steersman.nodes.kubelet.host import RequestError
from steersman.nodes.kubelet.node_pages import PAGES, NodePages, requested_node
from steersman.nodes.metrics.usage import default_usage

OTHER = {"metadata": {"name": "m"}}


def pages(*nodes):
    return NodePages(default_usage, lambda: nodes, lambda: [running("a")], clock=FakeClock(NOW))


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("/api/v1/nodes/n/proxy/stats/summary", "n"),
        ("/api/v1/nodes/n:10250/proxy/stats/summary", "n"),
        ("/api/v1/nodes/https:n:10250/proxy/stats/summary", "n"),
        ("/api/v1/nodes/https:n:/proxy/stats/summary", "n"),
        ("/api/v1/nodes/https%3An%3A10250/proxy/stats/summary", "n"),
        ("/stats/summary", ""),
        ("", ""),
    ],
)
def test_node_of_a_proxied_request(uri, name):
    assert requested_node(uri) == name


def test_page_of_the_requested_node():
    both = pages(NODE, OTHER)
    ours = json.loads(both.page("/stats/summary", "/api/v1/nodes/n/proxy/stats/summary").content)
    assert (ours["node"]["nodeName"], len(ours["pods"])) == ("n", 1)
    other = json.loads(both.page("/stats/summary", "/api/v1/nodes/m/proxy/stats/summary").content)
    assert (other["node"]["nodeName"], other["pods"]) == ("m", [])


@pytest.mark.parametrize("path", sorted(PAGES))
def test_only_node_needs_no_name(path):
    page = pages(NODE).page(path, "")
    assert page.content
    assert page.content_type.startswith("application/json" if path == "/stats/summary" else "text/plain")


def test_configuration_of_the_requested_node():
    page = pages(NODE, OTHER).page("/configz", "/api/v1/nodes/m/proxy/configz")
    assert json.loads(page.content)["kubeletconfig"]["kind"] == "KubeletConfiguration"
    with pytest.raises(RequestError, match="several nodes share this address"):
        pages(NODE, OTHER).page("/configz", "")


def test_node_among_several_needs_a_name():
    with pytest.raises(RequestError, match="several nodes share this address: request /api/v1/nodes/NAME/proxy/stats"):
        pages(NODE, OTHER).page("/stats/summary", "")


def test_unknown_node_is_404():
    with pytest.raises(RequestError, match='node "gone" not found') as error:
        pages(NODE).page("/stats/summary", "/api/v1/nodes/gone/proxy/stats/summary")
    assert error.value.code == 404


def test_other_paths_have_no_page():
    assert pages(NODE).page("/metrics/other", "") is None


def test_metrics_of_no_node_in_particular_are_left_to_the_server():
    both = pages(NODE, OTHER)
    assert both.page("/metrics", "") is None
    page = both.page("/metrics", "/api/v1/nodes/n/proxy/metrics")
    assert b'kubelet_node_name{node="n"} 1\n' in page.content
