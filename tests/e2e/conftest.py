"""Fixtures of tests with real clients: a started server, kubectl against it, and a namespace for each test."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.client import Client
from steersman.client.connecting import connect
from steersman.testing import ControlPlane

MANIFESTS = Path(__file__).parent / "manifests"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of this folder: all of them drive a started server."""
    item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane]:
    """A durable control plane, as ``steersman up`` would run it."""
    with ControlPlane(ephemeral=False) as started:
        yield started


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """A control plane of one test."""
    with ControlPlane() as started:
        yield started


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    """A client of ``plane``."""
    async with connect(plane.kubeconfig) as connected:
        yield connected


class Kubectl:
    """The machine's own kubectl, with a cache and a home of its own."""

    def __init__(self, cluster: ControlPlane, home: Path, namespace: str = "") -> None:
        self.cluster = cluster
        self.home = home
        self.namespace = namespace
        self.environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "HOME": str(home)}

    def command(self, *arguments: str) -> list[str]:
        return ["kubectl", *([f"--namespace={self.namespace}"] if self.namespace else []), *arguments]

    def run(self, *arguments: str, stdin: str = "", code: int = 0, **environment: str) -> str:
        """Return the output of a command, which must exit with ``code``."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=2 * HANG_SECONDS,  # more than kubectl itself waits
            env={**self.environment, **environment},
            check=False,
        )
        assert done.returncode == code, (
            f"kubectl {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done.stdout if code == 0 else done.stdout + done.stderr

    def get(self, *arguments: str) -> Any:
        """Return the parsed output of ``get -o json``."""
        return json.loads(self.run("get", *arguments, "-o", "json"))

    @contextlib.contextmanager
    def start(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Run kubectl until the end of the block."""
        command = self.command(*arguments)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment) as started:
            try:
                yield started
            finally:
                started.terminate()


@pytest.fixture(scope="session")
def admin(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl without a namespace of its own."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on this machine")
    return Kubectl(cluster, tmp_path_factory.mktemp("home"))


@pytest.fixture
def namespace(cluster: ControlPlane) -> str:
    """A new namespace, with the account that pods run as."""
    name = f"test-{secrets.token_hex(4)}"
    post(cluster, "/api/v1/namespaces", {"metadata": {"name": name}})
    post(cluster, f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
    return name


def post(cluster: ControlPlane, path: str, body: dict[str, Any]) -> None:
    """Make an object without any client."""
    import ssl
    import urllib.request

    headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(cluster.url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=str(cluster.ca))) as answer:
        assert answer.status == 201


@pytest.fixture
def kubectl(admin: Kubectl, namespace: str) -> Kubectl:
    """kubectl in a namespace of its own."""
    return Kubectl(admin.cluster, admin.home, namespace)
