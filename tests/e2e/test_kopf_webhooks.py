"""kopf runs an operator with its own admission webhooks, for a custom resource in two versions that it converts itself."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from scripts.ports import free_port
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl

from steersman.asynckit.certificates import make_ca, make_server
from steersman.asynckit.clock import RealClock
from steersman.testing import ControlPlane

OPERATOR = Path(__file__).parent / "rounds" / "kopf_converting_operator.py"
SCHEMA = {
    "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
}


def definition(port: int, ca: bytes) -> dict[str, Any]:
    client_config = {"url": f"https://127.0.0.1:{port}/convert", "caBundle": base64.b64encode(ca).decode()}
    version = {"served": True, "schema": SCHEMA, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "screens.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "screens", "singular": "screen", "kind": "Screen"},
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client_config},
            },
            "versions": [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}],
        },
    }


def screen(name: str, size: str) -> str:
    tree = {"apiVersion": "example.com/v1", "kind": "Screen", "metadata": {"name": name}, "spec": {"size": size}}
    return json.dumps(tree)


def refusal(kubectl: Kubectl, *arguments: str, stdin: str = "") -> str:
    """Return what a command that fails writes."""
    command = kubectl.command(*arguments)
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=HANG_SECONDS, env=kubectl.environment, check=False
    )
    assert done.returncode != 0, done.stdout
    return done.stderr


def wait_for_webhooks(kubectl: Kubectl) -> None:
    """Wait until the operator answers admission reviews, which the server sends for dry runs too; kubectl's runs pace it."""
    deadline = time.monotonic() + HANG_SECONDS
    command = kubectl.command("create", "--dry-run=server", "-f", "-")
    body = screen("probe", "1x1")
    while True:
        done = subprocess.run(
            command,
            input=body,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            env=kubectl.environment,
            check=False,
        )
        if done.returncode == 0 and has_webhooks(kubectl):
            return
        assert time.monotonic() < deadline, done.stderr


def has_webhooks(kubectl: Kubectl) -> bool:
    kinds = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    listings = [kubectl.get(kind)["items"] for kind in kinds]
    return all(items and items[0].get("webhooks") for items in listings)


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    with ControlPlane() as started:
        yield Kubectl(started, tmp_path, "default")


@pytest.fixture
def start(kubectl: Kubectl, tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Start the operator, whose definition is created first."""
    now, life = RealClock().now(), timedelta(days=1)
    ca = make_ca("operator-ca", now=now, life=life)
    pems = make_server("operator", ["127.0.0.1"], ca, now=now, life=life)
    for name, pem in (("tls.crt", pems.certificate), ("tls.key", pems.key), ("ca.crt", ca.certificate)):
        (tmp_path / name).write_bytes(pem)
    port = free_port()
    kubectl.run("create", "-f", "-", stdin=json.dumps(definition(port, ca.certificate)))
    kubectl.run("wait", "crd/screens.example.com", "--for=condition=Established", f"--timeout={HANG_SECONDS}s")
    environment = {
        **kubectl.environment,
        "WEBHOOK_FILES": str(tmp_path),
        "CONVERSION_PORT": str(port),
        "PYTHONWARNINGS": "ignore",
        "PATH": os.environ["PATH"],
    }
    command = [sys.executable, "-m", "kopf", "run", str(OPERATOR), "--namespace=default", "--standalone"]
    started: list[subprocess.Popen[bytes]] = []

    def run() -> subprocess.Popen[bytes]:
        with (tmp_path / f"operator-{len(started)}.log").open("wb") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
        wait_for_webhooks(kubectl)
        return started[-1]

    yield run
    for process in started:
        process.terminate()
        process.wait(timeout=HANG_SECONDS)


def test_operator_converts_validates_mutates_and_reports(kubectl: Kubectl, start: Callable[[], Any]):
    operator = start()
    kubectl.run("create", "-f", "-", stdin=screen("a", "10x20"))
    kubectl.run("wait", "screens.v1.example.com/a", "--for=jsonpath={.status.area}=200", f"--timeout={HANG_SECONDS}s")
    shown = [kubectl.get(f"screens.{version}.example.com", "a") for version in ("v1", "v2")]
    assert [item["spec"] for item in shown] == [{"size": "10x20"}, {"width": 10, "height": 20}]
    assert [item["metadata"]["labels"] for item in shown] == [{"shape": "tall"}] * 2

    assert "too wide" in refusal(kubectl, "create", "-f", "-", stdin=screen("b", "2000x1"))
    kubectl.run("patch", "screens.v1.example.com", "a", "--type=merge", "-p", '{"spec":{"size":"4x3"}}')
    kubectl.run("wait", "screens.v2.example.com/a", "--for=jsonpath={.status.area}=12", f"--timeout={HANG_SECONDS}s")
    assert kubectl.get("screens.v2.example.com", "a")["metadata"]["labels"] == {"shape": "wide"}

    operator.terminate()
    operator.wait(timeout=HANG_SECONDS)
    assert kubectl.get("screens.v1.example.com", "a")["spec"] == {"size": "4x3"}
    error = refusal(kubectl, "get", "screens.v2.example.com", "a")
    assert "conversion webhook for example.com/v1, Kind=Screen failed: Post" in error

    start()
    kubectl.run("wait", "screens.v2.example.com/a", "--for=jsonpath={.spec.width}=4", f"--timeout={HANG_SECONDS}s")
    kubectl.run("patch", "screens.v2.example.com", "a", "--type=merge", "-p", '{"spec":{"width":5}}')
    kubectl.run("wait", "screens.v1.example.com/a", "--for=jsonpath={.status.area}=15", f"--timeout={HANG_SECONDS}s")
    assert kubectl.get("screens.v1.example.com", "a")["spec"] == {"size": "5x3"}
