"""``/stats/summary``."""

from tests.unit.nodes.metrics.samples import MEBI, running, sample

from steersman.nodes.metrics.summary import summary

TIME = "2026-01-02T03:04:05Z"


def test_summary_has_the_node_and_its_pods():
    result = summary(sample(running("a", limits={"memory": "3Mi"})))
    cpu = {"time": TIME, "usageNanoCores": 100_000_000, "usageCoreNanoSeconds": 10_000_000_000}
    memory = {"time": TIME, "usageBytes": MEBI, "workingSetBytes": MEBI, "rssBytes": MEBI}
    started = "2026-01-02T03:02:25Z"
    assert result["node"] == {
        "nodeName": "n",
        "startTime": "2026-01-01T00:00:00Z",
        "cpu": cpu,
        "memory": {**memory, "availableBytes": 7 * MEBI},
    }
    assert result["pods"] == [
        {
            "podRef": {"name": "a", "namespace": "ns", "uid": "a-uid"},
            "startTime": started,
            "containers": [
                {"name": "c", "startTime": started, "cpu": cpu, "memory": {**memory, "availableBytes": 2 * MEBI}}
            ],
            "cpu": cpu,
            "memory": memory,
        }
    ]


def test_node_without_pods_uses_nothing():
    result = summary(sample())
    assert (result["pods"], result["node"]["cpu"]["usageNanoCores"]) == ([], 0)
