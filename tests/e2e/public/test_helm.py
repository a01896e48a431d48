"""Helm's own Go code against a whole control plane: a chart with definitions and hooks, by server-side apply."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl
from tests.e2e.public.notation import project

from steersman.testing import ControlPlane

helm = pytest.importorskip("helm_sdkpy", reason="helm-sdkpy is not installed; it needs Python 3.12 or newer")

CHART = "apiVersion: v2\nname: shop\nversion: 0.1.0\n"
TEMPLATES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
data: {greeting: "{{ .Values.greeting }}"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}, annotations: {greeting: "{{ .Values.greeting }}"}}
    spec: {containers: [{name: shop, image: example.com/shop}]}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: shop}
spec: {secretName: shop-tls, dnsNames: ["{{ .Values.greeting }}.example.com"], issuerRef: {name: shop}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": before-hook-creation}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: example.com/shop}]}}}
"""
MANAGED_BY_HELM = {"app.kubernetes.io/managed-by": "Helm"}


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    """kubectl and a whole control plane with one simulated node."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on this machine")
    with ControlPlane(whole=True) as cluster:
        yield Kubectl(cluster, tmp_path, "shop")


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Return the folder of a chart with the definitions of cert-manager."""
    folder = tmp_path / "chart"
    (folder / "crds").mkdir(parents=True)
    (folder / "templates").mkdir()
    (folder / "Chart.yaml").write_text(CHART)
    (folder / "crds" / "cert-manager.yaml").write_text(yaml.safe_dump_all(project("cert-manager").definitions))
    (folder / "templates" / "all.yaml").write_text(TEMPLATES)
    return folder


def applied_fields(obj: dict[str, Any]) -> dict[str, Any]:
    """Return what Helm owns by server-side apply; its field manager is named after the running program."""
    (owner,) = [
        managed_entry for managed_entry in obj["metadata"]["managedFields"] if managed_entry["operation"] == "Apply"
    ]
    return owner["fieldsV1"]


def test_helm_installs_upgrades_and_uninstalls_by_server_side_apply(kubectl: Kubectl, chart: Path) -> None:
    def get(*arguments: str) -> dict[str, Any]:
        return json.loads(kubectl.run("get", *arguments, "-o", "json", "--show-managed-fields"))

    def run(action: Any, **options: Any) -> dict[str, Any]:
        configuration = helm.Configuration(namespace="shop", kubeconfig=str(kubectl.cluster.kubeconfig))
        return asyncio.run(action(configuration).run("shop", timeout=HANG_SECONDS, **options))

    release = run(
        helm.Install,
        chart_path=str(chart),
        values={"greeting": "hello", "replicas": 1},
        create_namespace=True,
        server_side_apply=True,
        disable_openapi_validation=False,
    )
    assert release["info"]["status"] == "deployed"
    deployment = get("deployment", "shop")
    assert deployment["status"]["readyReplicas"] == 1
    assert deployment["metadata"]["labels"] == MANAGED_BY_HELM
    assert applied_fields(deployment)["f:spec"].keys() == {"f:replicas", "f:selector", "f:template"}
    assert get("job", "migrate")["status"]["succeeded"] == 1
    first_job = get("job", "migrate")["metadata"]["uid"]
    assert get("certificate", "shop")["spec"]["dnsNames"] == ["hello.example.com"]

    release = run(helm.Upgrade, chart_path=str(chart), values={"greeting": "bye", "replicas": 2})
    assert (release["info"]["status"], release["version"]) == ("deployed", 2)
    assert get("deployment", "shop")["status"]["readyReplicas"] == 2
    assert get("configmap", "shop")["data"] == {"greeting": "bye"}
    assert get("certificate", "shop")["spec"]["dnsNames"] == ["bye.example.com"]
    assert get("job", "migrate")["metadata"]["uid"] != first_job

    run(helm.Uninstall)
    assert kubectl.run("get", "configmap/shop", "deployment/shop", "certificate/shop", "--ignore-not-found") == ""
    assert get("crd", "certificates.cert-manager.io")["metadata"]["name"] == "certificates.cert-manager.io"
