"""The examples of README.md, docs/nodes.md and docs/stages.md run as they are printed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.busy_machine import LONG_HANG_SECONDS
from tests.e2e.conftest import post
from tests.e2e.watching import until, until_one
from tests.waits import is_ready

from steersman.nodes.processes.images import read_images
from steersman.testing import ControlPlane

ROOT = Path(__file__).parents[2]

OPERATOR = """\
import kopf


@kopf.on.create("configmaps")
def greet(patch, **_):
    patch.metadata.annotations["greeted"] = "yes"
"""
PODS = "/api/v1/namespaces/default/pods"


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with the node templates and the stages of the pages."""
    folder = tmp_path_factory.mktemp("pages")
    template, stages = folder / "nodes.yaml", folder / "mine.yaml"
    template.write_text(blocks("docs/nodes.md", "yaml")[0])
    stages.write_text(blocks("docs/stages.md", "yaml")[0])
    arguments = [f"--node-template={template}", f"--stages=default,{stages}", "--process-pods"]
    with ControlPlane(whole=True, arguments=arguments) as started:
        until(started, "/api/v1/nodes", lambda nodes: len(nodes) == 4 and all(map(is_ready, nodes)))
        until_one(started, "/api/v1/namespaces/default/serviceaccounts/default", lambda obj: obj is not None)
        yield started


def test_node_template_of_the_page_makes_its_nodes(whole: ControlPlane) -> None:
    nodes = {item["metadata"]["name"]: item for item in until(whole, "/api/v1/nodes", lambda objects: objects)}
    assert sorted(nodes) == ["arm-0", "big-0", "big-1", "big-2"]
    big, arm = nodes["big-1"], nodes["arm-0"]
    assert (big["status"]["capacity"]["cpu"], big["status"]["capacity"]["memory"]) == ("64", "512Gi")
    assert (big["status"]["allocatable"]["cpu"], big["status"]["allocatable"]["memory"]) == ("60", "512Gi")
    assert big["metadata"]["labels"]["topology.kubernetes.io/zone"] == "a"
    assert {"key": "dedicated", "value": "batch", "effect": "NoSchedule"} in big["spec"]["taints"]
    assert arm["status"]["nodeInfo"]["architecture"] == "arm64"


def test_stage_of_the_page_makes_running_pods_fail(whole: ControlPlane) -> None:
    container = {"name": "c", "image": "nginx"}
    post(
        whole, PODS, {"metadata": {"name": "doomed", "labels": {"chaos": "true"}}, "spec": {"containers": [container]}}
    )
    post(whole, PODS, {"metadata": {"name": "spared"}, "spec": {"containers": [container]}})
    doomed = until_one(whole, f"{PODS}/doomed", lambda pod: pod if pod and pod["status"]["phase"] == "Failed" else None)
    assert doomed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    events = "/api/v1/namespaces/default/events"
    until(
        whole,
        events,
        lambda events: any((event["reason"], event["message"]) == ("Crashed", "it was time") for event in events),
    )
    spared = until_one(
        whole, f"{PODS}/spared", lambda pod: pod if pod and pod["status"]["phase"] != "Pending" else None
    )
    assert spared["status"]["phase"] == "Running"


def test_process_pod_of_the_page_runs_its_operator(whole: ControlPlane, tmp_path: Path) -> None:
    operator = tmp_path / "operator.py"
    operator.write_text(OPERATOR)
    pod = yaml.safe_load(blocks("docs/nodes.md", "yaml")[3].replace("/home/me/operator.py", str(operator)))
    account = pod["spec"]["serviceAccountName"]
    pod["metadata"]["name"] = "operator"
    # The page's file is in a home directory; this one is below ``/tmp``, which a sandbox hides.
    pod["spec"]["volumes"] = [{"name": "code", "hostPath": {"path": str(tmp_path)}}]
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "code", "mountPath": str(tmp_path)}]
    post(whole, "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": account}})
    binding = {
        "metadata": {"name": account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
    }
    post(whole, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    post(whole, PODS, pod)
    post(whole, "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "hello"}})
    path = "/api/v1/namespaces/default/configmaps/hello"
    until_one(whole, path, lambda obj: obj and obj["metadata"].get("annotations", {}).get("greeted") == "yes")


def test_images_of_the_page_can_be_read(tmp_path: Path) -> None:
    text = blocks("docs/nodes.md", "yaml")[4].replace("/home/me/my-operator", str(tmp_path))
    images = read_images(yaml.safe_load(text))
    agnhost = images.find("registry.k8s.io/e2e-test-images/agnhost:2.53")
    assert agnhost is not None
    assert agnhost.command == ["/opt/test-images/agnhost"]


def test_pytest_example_of_the_readme_passes(tmp_path: Path) -> None:
    [example] = blocks("README.md", "python")
    (tmp_path / "test_operator.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_operator.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LONG_HANG_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
