"""A node with pods, for tests of a kubelet's pages."""

from datetime import UTC, datetime, timedelta

from steersman.nodes.metrics.node_usage import NodeUsage
from steersman.nodes.metrics.usage import default_usage

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MEBI = 2**20
NODE = {
    "metadata": {"name": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "status": {"capacity": {"cpu": "4", "memory": "8Mi"}},
}


def running(name, *, cpu="200m", seconds=100, uid=None, limits=None):
    """Return a pod with one container, which uses half of ``cpu`` since ``seconds``."""
    started = (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    resources = {"requests": {"cpu": cpu}, "limits": limits or {}}
    status = {
        "name": "c",
        "image": "docker.io/i:1",
        "containerID": f"containerd://{name}-id",
        "state": {"running": {"startedAt": started}},
    }
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": uid or f"{name}-uid"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": resources}]},
        "status": {"startTime": started, "containerStatuses": [status]},
    }


def sample(*pods, now=NOW):
    """Return the usage of the node."""
    return NodeUsage(default_usage).sample(NODE, pods, now=now)
