"""``steersman up -v 3 --logging-format json``: what a deployment causes can be followed in the log."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import ssl
import urllib.request
from pathlib import Path

import pytest
from tests.busy_machine import without_speed_reports
from tests.e2e.watching import Ending, named, until, until_one

from steersman.apimachinery.trees import Tree
from steersman.asynckit.structured_logging import V2, V3
from steersman.testing import ControlPlane

PAGE = Path(__file__).parents[2] / "docs" / "logs.md"
#: Keys that every JSON line has.
ENVELOPE = ("ts", "caller", "level", "logger", "msg", "v")

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        },
    },
}


def post(cluster: ControlPlane, path: str, body: Tree) -> str:
    """Create an object; returns the audit id of the request."""
    request = urllib.request.Request(
        f"{cluster.url}{path}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=str(cluster.ca))) as answer:
        return str(answer.headers["audit-id"])


def lines_of(cluster: ControlPlane) -> list[Tree]:
    """Return the log so far; every complete line must be one JSON object."""
    return [
        json.loads(line) for line in without_speed_reports(cluster.log).splitlines(keepends=True) if line.endswith("\n")
    ]


def is_available(deployment: Tree | None) -> bool:
    return deployment is not None and deployment["status"].get("availableReplicas") == 1


def check_page(lines: list[Tree]) -> None:
    """Lines in docs/logs.md have the keys, in order, of lines that are logged."""
    logged = {(line["msg"], tuple(key for key in line if key not in ENVELOPE)) for line in lines}
    texts = [line for line in PAGE.read_text().splitlines() if line.startswith('"')]
    assert len(texts) == 5
    for text in texts:
        message = text.split('"')[1]
        assert (message, tuple(re.findall(r' ([\w-]+)=(?=["\d])', text))) in logged, text
    (example,) = (json.loads(line) for line in PAGE.read_text().splitlines() if line.startswith("{"))
    assert list(example) in [list(line) for line in lines]


def test_custom_controller_logs_at_the_documented_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "root", logging.RootLogger(logging.WARNING))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(code, {})
    assert logging.root.isEnabledFor(V2)
    assert not logging.root.isEnabledFor(V3)


def test_deployment_can_be_followed_from_its_request_to_its_pod() -> None:
    with ControlPlane(whole=True, arguments=["-v=3", "--logging-format=json"]) as cluster:
        until(cluster, "/api/v1/namespaces/default/serviceaccounts", named("default"))  # pods need it
        audit_id = post(cluster, DEPLOYMENTS, DEPLOYMENT)
        until_one(cluster, f"{DEPLOYMENTS}/web", is_available)
        ending = Ending(cluster.pid)
        os.kill(cluster.pid, signal.SIGTERM)
        ending.wait()  # a reconcile is logged after its writes
        lines = lines_of(cluster)

    (created,) = (line for line in lines if line.get("audit-ID") == audit_id)
    assert (created["msg"], created["v"], created["verb"], created["URI"]) == ("HTTP", 3, "POST", DEPLOYMENTS)
    assert (created["resp"], created["user"]) == (201, "admin")
    assert created["srcIP"].startswith("127.0.0.1:")

    reconciles = [line for line in lines if line["msg"] == "Finished syncing"]
    assert all(line["v"] == 2 and line["cause"] and line["actions"] and line["duration"] for line in reconciles)
    first = next(line for line in reconciles if line["controller"] == "deployment-controller")
    # The controller's first list may be later than the request.
    assert first["cause"] in ("Deployment default/web added", "Deployment default/web listed")
    assert "created replicasets" in first["actions"]
    created_line = next(line for line in reconciles if line["controller"] == "replicaset-controller")
    assert "created pods" in created_line["actions"]
    (bound,) = (line for line in lines if line["msg"] == "Successfully bound pod to node")
    assert bound["node"] == "node-0"
    check_page(lines)
    stages = [line["actions"] for line in reconciles if line["key"] == bound["pod"]]
    assert any(actions.startswith("stage ") and "patched pods/status" in actions for actions in stages)
