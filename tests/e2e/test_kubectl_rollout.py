"""Deployments with kubectl against a whole control plane with a simulated node."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl

from steersman.testing import ControlPlane

PATIENCE = f"--timeout={HANG_SECONDS}s"


@pytest.fixture(scope="module")
def whole() -> Iterator[ControlPlane]:
    """With controllers, a scheduler and a node."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on this machine")
    with ControlPlane(whole=True, nodes=1) as started:
        yield started


@pytest.fixture
def kubectl(whole: ControlPlane, tmp_path: Path) -> Iterator[Kubectl]:
    """In a namespace of its own."""
    namespace = f"rollout-{secrets.token_hex(3)}"
    Kubectl(whole, tmp_path).run("create", "namespace", namespace)
    yield Kubectl(whole, tmp_path, namespace)
    Kubectl(whole, tmp_path).run("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """A Deployment that is rolled out."""
    kubectl.run("create", "deployment", "web", "--image=web:1", "--replicas=3")
    kubectl.run("rollout", "status", "deployment/web", PATIENCE)
    return kubectl


def images(kubectl: Kubectl) -> set[str]:
    """Return the images of Pods that are not terminating."""
    pods = kubectl.get("pods")["items"]
    return {pod["spec"]["containers"][0]["image"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}


def revisions(kubectl: Kubectl) -> list[str]:
    lines = kubectl.run("rollout", "history", "deployment/web").splitlines()
    return [line.split()[0] for line in lines if line[:1].isdigit()]


def test_rollout_of_a_new_image_and_undo(web: Kubectl) -> None:
    web.run("set", "image", "deployment/web", "web=web:2")
    assert "successfully rolled out" in web.run("rollout", "status", "deployment/web", PATIENCE)
    assert (images(web), revisions(web)) == ({"web:2"}, ["1", "2"])
    assert "web:1" in web.run("rollout", "history", "deployment/web", "--revision=1")
    web.run("rollout", "undo", "deployment/web")
    web.run("rollout", "status", "deployment/web", PATIENCE)
    assert (images(web), revisions(web)) == ({"web:1"}, ["2", "3"])


def test_paused_rollout_waits(web: Kubectl) -> None:
    web.run("rollout", "pause", "deployment/web")
    web.run("set", "image", "deployment/web", "web=web:2")
    assert revisions(web) == ["1"]
    web.run("rollout", "resume", "deployment/web")
    web.run("rollout", "status", "deployment/web", PATIENCE)
    assert images(web) == {"web:2"}


def test_rollout_restart_replaces_every_pod(web: Kubectl) -> None:
    before = {pod["metadata"]["name"] for pod in web.get("pods")["items"]}
    web.run("rollout", "restart", "deployment/web")
    web.run("rollout", "status", "deployment/web", PATIENCE)
    after = {pod["metadata"]["name"] for pod in web.get("pods")["items"] if "deletionTimestamp" not in pod["metadata"]}
    assert len(after) == 3
    assert not before & after


def test_scale_and_delete_propagate_to_pods(web: Kubectl) -> None:
    web.run("scale", "deployment/web", "--replicas=1")
    web.run("wait", "deployment/web", "--for=jsonpath={.status.replicas}=1", PATIENCE)
    web.run("delete", "deployment", "web", "--cascade=foreground", PATIENCE)
    assert web.get("replicasets")["items"] == []
