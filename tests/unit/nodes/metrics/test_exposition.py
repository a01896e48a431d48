"""Pages of a kubelet in the Prometheus text format."""

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.nodes.metrics.samples import MEBI, NOW, running, sample

from steersman.nodes.metrics.exposition import cadvisor_metrics, kubelet_metrics, probe_metrics, resource_metrics

IN_POD = {"namespace": "ns", "pod": "a"}
IN_CONTAINER = {**IN_POD, "container": "c"}


def values(text):
    """Return values by name and labels."""
    return {
        (line.name, frozenset(line.labels.items())): line.value
        for family in text_string_to_metric_families(text)
        for line in family.samples
    }


def test_resource_metrics_have_containers_pods_and_the_node():
    text = resource_metrics(sample(running("a")))
    read = values(text)
    assert read["container_cpu_usage_seconds_total", frozenset(IN_CONTAINER.items())] == 10
    assert read["container_memory_working_set_bytes", frozenset(IN_CONTAINER.items())] == MEBI
    assert read["container_start_time_seconds", frozenset(IN_CONTAINER.items())] == NOW.timestamp() - 100
    assert read["pod_cpu_usage_seconds_total", frozenset(IN_POD.items())] == 10
    assert read["pod_memory_working_set_bytes", frozenset(IN_POD.items())] == MEBI
    assert read["node_cpu_usage_seconds_total", frozenset()] == 10
    assert read["node_memory_working_set_bytes", frozenset()] == MEBI
    assert read["resource_scrape_error", frozenset()] == 0
    lines = text.splitlines()
    assert "# HELP node_cpu_usage_seconds_total [STABLE] CPU time of the node in core-seconds." in lines
    # metrics-server needs the time of the measurement, in milliseconds
    assert f"node_cpu_usage_seconds_total 10.0 {round(NOW.timestamp() * 1000)}" in lines


def test_kubelet_metrics_count_pods_and_containers():
    text = kubelet_metrics(sample(running("a"), running("b")))
    read = values(text)
    assert read["kubelet_running_pods", frozenset()] == 2
    assert read["kubelet_running_containers", frozenset({("container_state", "running")})] == 2
    assert "# HELP kubelet_running_pods [ALPHA] Pods with running containers.\n" in text


def test_cadvisor_metrics_have_the_labels_that_dashboards_select():
    read = values(cadvisor_metrics(sample(running("a", limits={"cpu": "500m", "memory": "2Mi"}))))
    container = {
        **IN_CONTAINER,
        "id": "/kubepods/poda-uid/a-id",
        "image": "docker.io/i:1",
        "name": "a-id",
    }
    labels = frozenset(container.items())
    assert read["container_cpu_usage_seconds_total", frozenset({**container, "cpu": "total"}.items())] == 10
    assert read["container_memory_working_set_bytes", labels] == MEBI
    assert read["container_spec_cpu_quota", labels] == 50_000
    assert read["container_spec_memory_limit_bytes", labels] == 2 * MEBI
    cgroup = {"container": "", "image": "", "name": "", "namespace": "", "pod": "", "id": "/"}
    assert read["container_memory_usage_bytes", frozenset(cgroup.items())] == MEBI
    of_pod = {**cgroup, **IN_POD, "id": "/kubepods/poda-uid"}
    assert read["container_memory_rss", frozenset(of_pod.items())] == MEBI
    assert read["machine_cpu_cores", frozenset()] == 4
    assert read["machine_memory_bytes", frozenset()] == 8 * MEBI


@pytest.mark.parametrize("render", [resource_metrics, cadvisor_metrics, probe_metrics])
def test_pages_of_an_idle_node_can_be_parsed(render):
    assert list(text_string_to_metric_families(render(sample())))
