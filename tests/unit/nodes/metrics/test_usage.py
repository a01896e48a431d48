"""Made-up usage of containers."""

from datetime import UTC, datetime
from random import Random

import pytest

from steersman.nodes.metrics.usage import container_usage, default_usage, quantities, usage_of_documents

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MEBI = 2**20


def pod(*, annotations=None, requests=None, state=None):
    return {
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": requests or {}}}]},
        "status": {
            "containerStatuses": [{"name": "c", "state": state or {"running": {"startedAt": "2026-01-02T03:03:25Z"}}}]
        },
    }


@pytest.mark.parametrize(
    ("obj", "cpu", "memory"),
    [
        (pod(), 0.001, MEBI),
        (pod(requests={"cpu": "300m", "memory": "64Mi"}), 0.15, 32 * MEBI),
        (pod(requests={"cpu": "1m"}), 0.001, MEBI),
        (pod(requests={"cpu": "1"}, annotations={"kwok.x-k8s.io/usage-cpu": "250m"}), 0.25, MEBI),
    ],
)
def test_default_usage_is_the_annotation_or_half_of_the_request(obj, cpu, memory):
    assert container_usage(default_usage, obj, node=None, now=NOW) == {"c": {"cpu": cpu, "memory": memory}}


def test_container_usage_leaves_out_containers_that_do_not_run():
    assert container_usage(default_usage, pod(state={"waiting": {}}), node=None, now=NOW) == {}


def test_invalid_annotation_is_an_error():
    with pytest.raises(ValueError, match="quantities must match"):
        container_usage(default_usage, pod(annotations={"kwok.x-k8s.io/usage-cpu": "a lot"}), node=None, now=NOW)


def test_documents_of_kwok_take_the_place_of_the_default():
    document = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterResourceUsage",
        "metadata": {"name": "all"},
        "spec": {"usages": [{"usage": {"cpu": {"value": "70m"}, "memory": {"value": "2Mi"}}}]},
    }
    usage = usage_of_documents([document], dice=Random(1))
    assert container_usage(usage, pod(requests={"cpu": "1"}), node=None, now=NOW) == {
        "c": {"cpu": 0.07, "memory": 2 * MEBI}
    }
    assert usage_of_documents([], dice=Random(1)) is default_usage


def test_quantities_are_those_of_metrics_server():
    assert quantities({"cpu": 0.25, "memory": MEBI}) == {"cpu": "250000000n", "memory": "1024Ki"}
