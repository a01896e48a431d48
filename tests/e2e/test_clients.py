"""A round of create, list, watch, patch and delete with every client that people use, each in a process of its own."""

import json
import os
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS

ROOT = Path(__file__).parents[2]
ROUNDS = Path(__file__).parent / "rounds"
MODULES = Path(os.environ.get("STEERSMAN_NODE_MODULES", ROOT / "node_modules"))


def round_of(command: list[str], cluster, namespace: str) -> None:
    done = subprocess.run(
        [*command, str(cluster.kubeconfig), namespace],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"listed": ["a"], "events": [["MODIFIED", "2"], ["DELETED", "2"]]}


@pytest.mark.parametrize("client", ["official", "official_aio", "kr8s_", "lightkube_"])
def test_python_clients(client, cluster, namespace):
    round_of([sys.executable, "-W", "ignore", str(ROUNDS / f"{client}.py")], cluster, namespace)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not on this machine")
@pytest.mark.skipif(
    not (MODULES / "@kubernetes/client-node").is_dir(), reason="@kubernetes/client-node is not installed"
)
def test_official_javascript_client(cluster, namespace):
    round_of(["node", str(ROUNDS / "client_node.mjs")], cluster, namespace)


def test_client_without_the_ca_is_rejected_with_a_hint(cluster):
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(cluster.url, context=ssl.create_default_context())
