"""kubectl against simulated pods that end, crash and cannot pull their images."""

import shutil
import subprocess

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl
from tests.e2e.watching import line_with, named, until

from steersman.testing import ControlPlane


@pytest.fixture(scope="module")
def whole():
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on this machine")
    with ControlPlane(whole=True) as started:
        yield started


@pytest.fixture
def kubectl(whole, tmp_path):
    new_kubectl = Kubectl(whole, tmp_path, namespace="default")
    until(whole, "/api/v1/namespaces/default/serviceaccounts", named("default"))
    return new_kubectl


def test_kubectl_run_with_stdin_prints_the_output_and_ends(kubectl):
    printed = kubectl.run(
        "run", "greeter", "-i", "--rm", "--restart=Never", "--image=busybox", "--quiet", "--", "echo", "hi"
    )
    assert printed.splitlines()[0] == "hi"
    assert kubectl.run("get", "pods", "--ignore-not-found", "greeter") == ""


def test_kubectl_run_ends_although_the_pod_restarts(kubectl):
    printed = kubectl.run("run", "again", "-i", "--rm", "--image=busybox", "--quiet", "--", "echo", "hi")
    assert printed.splitlines()[0] == "hi"


def test_kubectl_run_passes_the_exit_code_on(kubectl):
    command = [
        "run",
        "failing",
        "-i",
        "--rm",
        "--restart=Never",
        "--image=busybox",
        "--",
        "sh",
        "-c",
        "echo no; exit 3",
    ]
    done = subprocess.run(
        kubectl.command(*command), capture_output=True, text=True, timeout=HANG_SECONDS, env=kubectl.environment,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "no\n" in done.stdout


def test_kubectl_run_without_stdin_leaves_a_pod_that_succeeds(kubectl):
    kubectl.run("run", "alone", "--restart=Never", "--image=busybox", "--", "echo", "hi")
    kubectl.run("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/alone", f"--timeout={HANG_SECONDS}s")
    assert kubectl.run("logs", "alone") == "hi\n"


def test_kubectl_shows_a_pull_that_fails(kubectl):
    kubectl.run("run", "absent", "--image=nginx:does-not-exist")
    reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}"
    kubectl.run("wait", f"--for={reason}=ImagePullBackOff", "pod/absent", f"--timeout={HANG_SECONDS}s")
    row = kubectl.run("get", "pod", "absent", "--no-headers").split()
    assert row[1:4] == ["0/1", "ImagePullBackOff", "0"]
    refused = kubectl.run("logs", "absent", code=1)
    assert 'container "absent" in pod "absent" is waiting to start: trying and failing to pull image' in refused
    kubectl.run("set", "image", "pod/absent", "absent=nginx")
    kubectl.run("wait", "--for=condition=Ready", "pod/absent", f"--timeout={HANG_SECONDS}s")


def test_kubectl_shows_a_crash_loop(kubectl):
    kubectl.run("run", "crashing", "--image=busybox", "--", "sh", "-c", "echo oops; exit 7")
    with kubectl.start("get", "pod", "crashing", "--watch", "--no-headers") as watching:
        row = line_with(watching, "CrashLoopBackOff").split()
    assert row[1] == "0/1"
    assert int(row[3]) >= 1  # a later backoff, if the watch came too late for the first one
    last = kubectl.get("pod", "crashing")["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (7, "Error")
    assert kubectl.run("logs", "crashing") == "oops\n"
    description = kubectl.run("describe", "pod", "crashing")
    assert "Back-off restarting failed container crashing in pod crashing_default(" in description
