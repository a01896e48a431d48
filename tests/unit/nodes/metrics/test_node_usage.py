"""Usage of a node and its pods over time."""

from datetime import timedelta

from tests.unit.nodes.metrics.samples import MEBI, NODE, NOW, running, sample

from steersman.nodes.metrics.node_usage import NodeUsage, Usage
from steersman.nodes.metrics.usage import ANNOTATION_PREFIX, default_usage


def test_node_uses_the_sum_of_its_pods():
    taken = sample(running("a"), running("b", cpu="1", seconds=10))
    assert [pod.usage for pod in taken.pods] == [Usage(0.1, 10.0, MEBI), Usage(0.5, 5.0, MEBI)]
    assert taken.usage == Usage(0.6, 15.0, 2 * MEBI)
    assert not taken.is_incomplete


def test_cpu_time_never_decreases_when_the_usage_falls():
    usage, pod = NodeUsage(default_usage), running("a")
    assert usage.sample(NODE, [pod], now=NOW).usage.core_seconds == 10
    pod["metadata"]["annotations"] = {f"{ANNOTATION_PREFIX}cpu": "10m"}
    later = usage.sample(NODE, [pod], now=NOW + timedelta(seconds=100))
    assert later.usage == Usage(0.01, 11.0, MEBI)
    assert usage.sample(NODE, [pod], now=NOW).usage.core_seconds == 11  # also when the clock is set back


def test_restarted_container_starts_at_zero():
    usage = NodeUsage(default_usage)
    usage.sample(NODE, [running("a")], now=NOW)
    assert usage.sample(NODE, [running("a", seconds=1)], now=NOW).usage.core_seconds == 0.1


def test_pods_without_running_containers_are_left_out():
    pod = running("a")
    pod["status"]["containerStatuses"][0]["state"] = {"waiting": {}}
    assert sample(pod).pods == []


def test_pod_with_an_invalid_annotation_makes_the_sample_incomplete():
    pod = running("a")
    pod["metadata"]["annotations"] = {f"{ANNOTATION_PREFIX}cpu": "a lot"}
    taken = sample(pod, running("b"))
    assert ([pod.pod["metadata"]["name"] for pod in taken.pods], taken.is_incomplete) == (["b"], True)


def test_deleted_nodes_are_forgotten():
    usage = NodeUsage(default_usage)
    pod = running("a", seconds=0)
    usage.sample(NODE, [pod], now=NOW)
    usage.sample(NODE, [pod], now=NOW + timedelta(seconds=10))
    usage.retain({"other"})
    assert usage.sample(NODE, [pod], now=NOW).usage.core_seconds == 0
