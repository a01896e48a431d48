"""HTTPS ports of real components: authentication and authorization by a real API server, and the names of dashboards."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts.ports import free_port
from tests.busy_machine import HANG_SECONDS
from tests.e2e.metric_names import ABSENT, UPSTREAM, exposed
from tests.e2e.secure_client import get, make_token, wait_for_listener
from tests.unit.listening import connected_to
from tests.waits import holder_of, wait_until

from steersman.client import Client, tree
from steersman.testing import ControlPlane

ACCOUNTS, EVENTS = tree("v1", "ServiceAccount"), tree("v1", "Event")
LEASES = tree("coordination.k8s.io/v1", "Lease")
MANAGER, SCHEDULER = "kube-controller-manager", "kube-scheduler"
COMMANDS = {MANAGER: "controller-manager", SCHEDULER: "scheduler"}


@contextmanager
def running(plane: ControlPlane, component: str, *arguments: str) -> Iterator[int]:
    """Run a component with an HTTPS port; give the port."""
    port = free_port()
    command = [
        sys.executable, "-m", "steersman", COMMANDS[component], f"--secure-port={port}",
        *(f"--{flag}={plane.kubeconfig}" for flag in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")),
        *arguments,
    ]  # fmt: skip
    with subprocess.Popen(command) as process:
        try:
            wait_for_listener(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(HANG_SECONDS)


async def wait_leading(client: Client, component: str) -> str:
    """Wait until the component holds its lease; return its identity."""
    return holder_of(await wait_until(client, LEASES, holder_of, name=component, namespace="kube-system"))


async def wait_working(client: Client) -> None:
    """Wait until controllers have reconciled a new namespace."""
    namespace = await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "n-"}})
    await wait_until(client, ACCOUNTS, bool, namespace=namespace["metadata"]["name"])


async def wait_for_event(client: Client, identity: str) -> dict[str, str]:
    """Wait for the event of the new leader; return the object that it is about."""

    def is_of_leader(event: Any) -> bool:
        return event.get("message") == f"{identity} became leader"

    event = await wait_until(
        client, EVENTS, is_of_leader, namespace="kube-system", field_selector="reason=LeaderElection"
    )
    return event["involvedObject"]


@pytest.mark.parametrize("component", [MANAGER, SCHEDULER])
async def test_component_authenticates_and_authorizes(plane: ControlPlane, client: Client, component: str) -> None:
    scraper = await make_token(client, "scraper", role="system:monitoring")
    other = await make_token(client, "other")
    with running(plane, component) as port:
        identity = await wait_leading(client, component)
        involved = await wait_for_event(client, identity)
        assert (involved["kind"], involved["name"]) == ("Lease", component)
        assert await get(port, "/healthz") == (200, "ok")
        assert (await get(port, "/healthz", "nonsense"))[0] == 401
        for path in ("/metrics", "/configz", "/nowhere"):
            code, body = await get(port, path)
            assert (code, json.loads(body)["message"]) == (
                403,
                f'forbidden: User "system:anonymous" cannot get path "{path}"',
            )
        code, body = await get(port, "/metrics", other)
        assert 'User "system:serviceaccount:default:other" cannot get path "/metrics"' in json.loads(body)["message"]
        assert f"{component} statusz" in (await get(port, "/statusz", scraper))[1]
        assert f"secure-port={port}" in (await get(port, "/flagz", scraper))[1]
        assert (await get(port, "/configz", scraper))[0] == 403
        code, text = await get(port, "/metrics", scraper)
    assert code == 200
    assert f'leader_election_master_status{{name="{component}"}} 1.0' in text
    assert_names_are_upstreams(component, text)
    if component == MANAGER:
        for queue in ("replicationmanager", "namespace", "serviceaccount", "resourcequota_primary"):
            assert f'workqueue_depth{{name="{queue}"}}' in text


def assert_names_are_upstreams(component: str, text: str) -> None:
    """Metrics of upstream that are not listed as absent exist, with all labels of upstream."""
    ours = exposed(text)
    assert set(UPSTREAM[component]) - set(ours) == ABSENT[component]
    for name, labels in UPSTREAM[component].items():
        if ours.get(name):  # without samples there are no labels to see
            assert labels <= ours[name], name


async def test_certificate_of_the_directory_is_served_and_client_certificates_are_accepted(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    with running(plane, SCHEDULER, f"--cert-dir={tmp_path}") as port:
        await wait_leading(client, SCHEDULER)
        context = ssl.create_default_context(cafile=tmp_path / f"{SCHEDULER}.crt")
        context.load_cert_chain(admin_pair(plane, tmp_path))
        async with connected_to("localhost", port, tls=context) as (reader, writer):
            writer.write(b"GET /debug/pprof/cmdline HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"--cert-dir=" in answer


async def test_scraper_of_the_page_gets_metrics(plane: ControlPlane, client: Client) -> None:
    if shutil.which("kubectl") is None or shutil.which("curl") is None:
        pytest.skip("kubectl or curl is not on this machine")
    page = (Path(__file__).parents[2] / "docs" / "components.md").read_text()
    (block,) = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    with running(plane, MANAGER) as port:
        await wait_working(client)
        script = "\n".join(["set -e", *lines]).replace(":10257/", f":{port}/")
        done = run_script(plane, script)
    assert done.returncode == 0, done.stderr
    assert "workqueue_depth{" in done.stdout


def run_script(plane: ControlPlane, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


def admin_pair(plane: ControlPlane, directory: Path) -> Path:
    """Write the administrator's certificate and key into one file."""
    user = yaml.safe_load(plane.kubeconfig.read_text())["users"][0]["user"]
    path = directory / "admin.pem"
    path.write_bytes(b"".join(base64.b64decode(user[name]) for name in ("client-certificate-data", "client-key-data")))
    return path
