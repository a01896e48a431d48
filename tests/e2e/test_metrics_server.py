"""``steersman up --metrics``: kubectl top, explain, and a HorizontalPodAutoscaler that scales by the usage of its pods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl

from steersman.testing import ControlPlane


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    arguments = ("--metrics", "--stages=never-end")
    with ControlPlane(whole=True, nodes=2, arguments=arguments) as started:
        new_kubectl = Kubectl(started, Path(tmp_path_factory.mktemp("home")), "default")
        registration = "apiservice/v1beta1.metrics.k8s.io"
        new_kubectl.run("wait", registration, "--for=create", f"--timeout={HANG_SECONDS}s")
        new_kubectl.run("wait", registration, "--for=condition=Available", f"--timeout={HANG_SECONDS}s")
        yield new_kubectl


def pod(name: str, cpu: str) -> str:
    annotations = {"kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": "64Mi"}
    metadata = {"name": name, "annotations": annotations, "labels": {"app": name}}
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}})


def test_top_shows_usage_of_pods_and_nodes(kubectl: Kubectl):
    kubectl.run("create", "-f", "-", stdin=pod("a", "250m"))
    kubectl.run("wait", "podmetrics/a", "--for=create", f"--timeout={HANG_SECONDS}s")
    assert kubectl.run("top", "pods", "-l", "app=a", "--no-headers").split() == ["a", "250m", "64Mi"]
    assert kubectl.run("top", "pod", "a", "--containers", "--no-headers").split() == ["a", "c", "250m", "64Mi"]
    nodes = [line.split() for line in kubectl.run("top", "nodes", "--no-headers").splitlines()]
    assert [name for name, *_ in nodes] == ["node-0", "node-1"]
    bound = kubectl.run("get", "pod/a", "--output=jsonpath={.spec.nodeName}")
    usage = {name: int(cpu.removesuffix("m")) for name, cpu, *_ in nodes}
    assert usage[bound] >= 250  # other tests of this module may have pods there


def test_kubelet_of_each_node_reports_the_usage_of_its_pods(kubectl: Kubectl):
    kubectl.run("create", "-f", "-", stdin=pod("s", "250m"))
    kubectl.run("wait", "pod/s", "--for=condition=Ready", f"--timeout={HANG_SECONDS}s")
    bound = kubectl.run("get", "pod/s", "--output=jsonpath={.spec.nodeName}")
    for name in ("node-0", "node-1"):
        summary = json.loads(kubectl.run("get", "--raw", f"/api/v1/nodes/{name}/proxy/stats/summary"))
        usage = {entry["podRef"]["name"]: entry["cpu"]["usageNanoCores"] for entry in summary["pods"]}
        assert summary["node"]["nodeName"] == name
        assert usage.get("s") == (250_000_000 if name == bound else None)
    for page in ("resource", "cadvisor", "probes"):
        text = kubectl.run("get", "--raw", f"/api/v1/nodes/{bound}/proxy/metrics/{page}")
        assert text.startswith("# HELP ")
        assert page == "probes" or 'pod="s"' in text


def test_kinds_of_the_group_are_explained_and_listed(kubectl: Kubectl):
    assert "Resource usage of a pod." in kubectl.run("explain", "podmetrics")
    assert "node-0" in kubectl.run("get", "nodemetrics")


def autoscaler(name: str) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": 50}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 1,
            "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }


def test_autoscaler_scales_by_the_usage_of_its_pods(kubectl: Kubectl):
    template = json.loads(pod("web", "200m"))
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": template["metadata"], "spec": template["spec"]},
        },
    }
    kubectl.run("create", "-f", "-", stdin=json.dumps(deployment))
    kubectl.run("wait", "deploy/web", "--for=condition=Available", f"--timeout={HANG_SECONDS}s")
    kubectl.run("create", "-f", "-", stdin=json.dumps(autoscaler("web")))
    # 200m of 100m, where 50m are to be used: as many as are allowed
    kubectl.run("wait", "deploy/web", "--for=jsonpath={.spec.replicas}=3", f"--timeout={HANG_SECONDS}s")
    kubectl.run("wait", "hpa/web", "--for=jsonpath={.status.currentMetrics[0].resource.current.averageUtilization}=200", f"--timeout={HANG_SECONDS}s")  # fmt: skip
