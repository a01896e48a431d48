"""kopf runs an operator against the server: handlers, its finalizer, its patches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS

OPERATOR = Path(__file__).parent / "rounds" / "kopf_operator.py"


@pytest.fixture
def operator(cluster, namespace):
    command = [sys.executable, "-m", "kopf", "run", str(OPERATOR), "--namespace", namespace, "--standalone"]
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    yield process
    process.terminate()
    process.communicate(timeout=HANG_SECONDS)


def test_kopf_operator_handles_every_change_and_removes_its_finalizer(operator, kubectl):
    kubectl.run("create", "cm", "a", "--from-literal=k=1")
    kubectl.run("label", "cm", "a", "kopf=yes")
    seen = "--for=jsonpath={.metadata.annotations.seen}"
    kubectl.run("wait", "cm/a", f"{seen}=1", f"--timeout={HANG_SECONDS}s")
    assert kubectl.get("cm", "a")["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    kubectl.run("patch", "cm", "a", "-p", '{"data":{"k":"2"}}')
    kubectl.run("wait", "cm/a", f"{seen}=2", f"--timeout={HANG_SECONDS}s")
    kubectl.run("delete", "cm", "a", f"--timeout={HANG_SECONDS}s")
    assert operator.stdout.readline() == "goodbye a\n"
