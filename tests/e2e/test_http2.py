"""kubectl and Node.js against a control plane that serves HTTP/2."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl
from tests.e2e.watching import named, until

from steersman.testing import ControlPlane

ROUNDS = Path(__file__).parent / "rounds"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture(scope="module")
def whole():
    with ControlPlane(whole=True, arguments=["--disable-http2-serving=false"]) as started:
        until(started, "/api/v1/namespaces/default/serviceaccounts", named("default"))
        yield started


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_kubectl_uses_http2_and_upgrades_over_http1(whole, tmp_path):
    kubectl = Kubectl(whole, tmp_path, "default")
    command = kubectl.command("apply", "-f", "-")
    applied = subprocess.run(
        command,
        input=json.dumps(POD),
        capture_output=True,
        text=True,
        check=True,
        env={**kubectl.environment, "GODEBUG": "http2debug=1"},
    )
    assert applied.stdout == "pod/p created\n"
    assert "http2: Transport" in applied.stderr
    with kubectl.start("get", "pods", "--watch", "-o", "name") as watching:
        assert watching.stdout.readline() == "pod/p\n"
    kubectl.run("wait", "pod/p", "--for=condition=Ready", f"--timeout={HANG_SECONDS}s")
    assert kubectl.run("exec", "p", "--", "ls") == "p: c is simulated\n"
    assert kubectl.run("exec", "p", "--", "ls", KUBECTL_REMOTE_COMMAND_WEBSOCKETS="false") == "p: c is simulated\n"
    assert kubectl.run("logs", "p") == "p: c is simulated\n"
    assert kubectl.run("delete", "pod", "p", "--now").startswith('pod "p" deleted')


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not on this machine")
def test_client_of_node_runs_requests_and_a_watch_on_one_connection(whole):
    command = ["node", str(ROUNDS / "node_http2.mjs"), whole.url, str(whole.ca), whole.token, "default"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "protocol": "h2",
        "listed": ["a"],
        "events": [["MODIFIED", "2"], ["DELETED", "2"]],
    }
