"""``steersman envtest`` under the start sequence of controller-runtime's envtest."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.envtest_sequence import Client, Envtest, WebhookInstallOptions, start_together
from tests.unit.apiserver.webhooks.servers import WebhookServer, http_response

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return the folder that the command prints."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def print_folder(*flags: str) -> Path:
        command = [sys.executable, "-m", "steersman", "envtest", *flags]
        return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())

    return print_folder


@pytest.fixture
def planes(assets: Callable[..., Path]) -> Iterator[Callable[..., Envtest]]:
    environments: list[Envtest] = []

    def make(*flags: str, **extra: str) -> Envtest:
        environments.append(Envtest(assets(*flags), **extra))
        return environments[-1]

    yield make
    for plane in environments:
        plane.clean_up()


def names(client: Client) -> set[str]:
    return {item["metadata"]["name"] for item in client("GET", NAMESPACES)["items"]}


def create_namespace(client: Client, name: str) -> None:
    client("POST", NAMESPACES, {"metadata": {"name": name}})


def processes_of(directory: Path) -> list[str]:
    """Return the command lines that name a directory."""
    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if str(directory) in command:
                processes.append(command)
    return processes


def test_control_plane_of_the_assets_serves_users_with_envtest_certificates(planes) -> None:
    plane = planes()
    plane.start()
    assert "default" in names(plane.client())
    with pytest.raises(urllib.error.HTTPError) as refused:
        plane.client("jane", ())("GET", "/api/v1/secrets")
    assert refused.value.code == 403
    refused.value.close()


def test_serviceaccount_tokens_are_signed_with_envtest_keys(planes) -> None:
    plane = planes()
    plane.start()
    client = plane.client()
    client("POST", f"{NAMESPACES}/default/serviceaccounts", {"metadata": {"name": "bot"}})
    requested = client("POST", f"{NAMESPACES}/default/serviceaccounts/bot/token", {"spec": {}})
    review = {"spec": {"token": requested["status"]["token"]}}
    answer = client("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert answer["status"]["user"]["username"] == "system:serviceaccount:default:bot"


def test_stop_by_sigterm_leaves_no_process_and_no_file(planes) -> None:
    plane = planes()
    plane.start()
    directory = plane.etcd.directory
    assert processes_of(directory)
    assert plane.stop() == (0, 0)
    assert processes_of(directory) == []
    assert not directory.exists()


def test_several_control_planes_started_together_are_isolated(planes) -> None:
    environments = [planes() for _ in range(3)]
    start_together(environments)
    for number, plane in enumerate(environments):
        create_namespace(plane.client(), f"own-{number}")
    for number, plane in enumerate(environments):
        assert {name for name in names(plane.client()) if name.startswith("own-")} == {f"own-{number}"}


def test_pods_run_and_namespaces_are_deleted_with_controllers(planes) -> None:
    plane = planes("--with-controllers")
    plane.start()
    client = plane.client()
    create_namespace(client, "work")
    container = {"name": "main", "image": "busybox"}
    pod = {"metadata": {"name": "pod"}, "spec": {"containers": [container], "terminationGracePeriodSeconds": 0}}
    client("POST", f"{NAMESPACES}/work/pods", pod)
    client.until(f"{NAMESPACES}/work/pods", "pod", lambda _, stored: stored["status"]["phase"] == "Running")
    client("DELETE", f"{NAMESPACES}/work")
    client.until(NAMESPACES, "work", lambda event, _: event == "DELETED")


def test_namespace_stays_terminating_without_controllers(planes) -> None:
    plane = planes()
    plane.start()
    client = plane.client()
    create_namespace(client, "work")
    client("DELETE", f"{NAMESPACES}/work")
    assert client("GET", f"{NAMESPACES}/work")["status"]["phase"] == "Terminating"


@pytest.mark.parametrize(("storage", "survivors"), [("memory", set()), ("sqlite", {"kept"})])
def test_objects_survive_a_restart_of_the_apiserver_in_sqlite_only(planes, storage, survivors) -> None:
    plane = planes(f"--storage={storage}")
    plane.start()
    create_namespace(plane.client(), "kept")
    assert plane.apiserver.stop() == 0
    plane.start_apiserver()
    assert names(plane.client()) & {"kept"} == survivors


def webhook_configuration(kind: str, path: str) -> dict[str, Any]:
    """Return a configuration as kubebuilder generates it: it names the Service of the deployed manager."""
    service = {"name": "webhook-service", "namespace": "system", "path": path}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    webhook = {
        "name": f"{path.strip('/')}.example.com",
        "clientConfig": {"service": service},
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    metadata = {"name": path.strip("/")}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "webhooks": [webhook]}


async def review(path: str, body: Any) -> bytes:
    """Add a label in the mutating webhook, and deny objects that lack it in the validating one."""
    request = body["request"]
    response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
    if path == "/mutate":
        patch = [{"op": "add", "path": "/metadata/labels", "value": {"mutated": "yes"}}]
        encoded = base64.b64encode(json.dumps(patch).encode()).decode()
        response |= {"patchType": "JSONPatch", "patch": encoded}
    elif "deny" in request["object"]["metadata"].get("annotations", {}):
        response |= {"allowed": False, "status": {"message": "denied by the manager"}}
    return http_response({**body, "response": response})


async def test_webhooks_that_envtest_installs_are_called_at_its_local_address(planes, tmp_path) -> None:
    plane = planes()
    options = WebhookInstallOptions(
        mutating=[webhook_configuration("MutatingWebhookConfiguration", "/mutate")],
        validating=[webhook_configuration("ValidatingWebhookConfiguration", "/validate")],
    )
    await asyncio.to_thread(plane.start)
    client = plane.client()
    await asyncio.to_thread(options.install, client)
    path = f"{NAMESPACES}/default/configmaps"
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(options.local_serving_cert_dir / "tls.crt", options.local_serving_cert_dir / "tls.key")
    address = (options.local_serving_host, options.local_serving_port)
    async with WebhookServer(review, context=tls, address=address):
        created = await asyncio.to_thread(client, "POST", path, {"metadata": {"name": "a"}})
        assert created["metadata"]["labels"] == {"mutated": "yes"}
        denied = {"metadata": {"name": "b", "annotations": {"deny": "yes"}}}
        with pytest.raises(urllib.error.HTTPError) as refused:
            await asyncio.to_thread(client, "POST", path, denied)
        assert "denied by the manager" in json.load(refused.value)["message"]
        refused.value.close()
    await asyncio.to_thread(options.install, client)  # another package of the test run, with the same configurations
    options.clean_up()
    assert not options.local_serving_cert_dir.exists()


def test_second_apiserver_of_an_etcd_is_refused(planes) -> None:
    plane = planes()
    plane.start()
    other = Envtest(plane.assets)
    other.etcd_url = plane.etcd_url
    with pytest.raises(RuntimeError, match="another API server uses this etcd"):
        other.start_apiserver()
    other.clean_up()


def test_flags_of_the_user_reach_the_apiserver(planes) -> None:
    plane = planes(feature_gates="NoSuchGate=true")
    with pytest.raises(RuntimeError, match="NoSuchGate"):
        plane.start()


def test_apiserver_refuses_the_etcd_of_others(assets) -> None:
    done = subprocess.run(
        [assets() / "kube-apiserver", "--etcd-servers=http://127.0.0.1:1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "http://127.0.0.1:1 is not the etcd of `steersman envtest`" in done.stderr


def test_apiserver_ends_with_a_killed_etcd(planes) -> None:
    plane = planes()
    plane.start()
    assert plane.etcd.process is not None
    assert plane.apiserver.process is not None
    plane.etcd.process.kill()
    assert plane.apiserver.process.wait(HANG_SECONDS) != 0
    plane.etcd.process.wait()


def test_control_plane_outlives_a_suspension_of_its_fork_server(planes) -> None:
    plane = planes()
    plane.start()
    assert plane.etcd.process is not None
    [fork_server] = Path(f"/proc/{plane.etcd.process.pid}/task/{plane.etcd.process.pid}/children").read_text().split()
    for number in (signal.SIGSTOP, signal.SIGCONT):
        os.kill(int(fork_server), number)
    assert "default" in names(plane.client())
    assert plane.stop() == (0, 0)


def test_killed_apiserver_frees_its_port(planes) -> None:
    plane = planes()
    plane.start()
    assert plane.apiserver.process is not None
    plane.apiserver.process.send_signal(signal.SIGKILL)
    plane.apiserver.process.wait()
    plane.etcd.stop()  # returns when the fork server has ended its children
    with pytest.raises(OSError, match="refused"):
        plane.client()("GET", "/readyz")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_kubectl_is_the_one_of_the_path(assets) -> None:
    folder = assets()
    done = subprocess.run(
        [folder / "kubectl", "version", "--client"],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Client Version" in done.stdout


def test_kubectl_that_is_missing_is_an_error_with_its_remedy(assets, tmp_path) -> None:
    folder = assets()
    done = subprocess.run(
        [folder / "kubectl", "get", "pods"],
        env={"PATH": f"{folder}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 127
    assert "kubectl: there is none on $PATH; install it" in done.stderr


def test_shell_commands_of_the_page_set_the_folder(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "test-with-envtest.md").read_text()
    [with_test, with_controllers] = re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    for name, command in (
        ("steersman", f'{sys.executable} -m steersman "$@"'),
        ("go", 'echo "$KUBEBUILDER_ASSETS $*"'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{command}\n")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "XDG_STATE_HOME": str(tmp_path / "state")}
    for block in (with_test, f"{with_controllers}go test ./...\n"):
        done = subprocess.run(["bash", "-ec", block], env=environment, capture_output=True, text=True, check=True)
        folder, _, command = done.stdout.strip().partition(" ")
        assert (Path(folder) / "kube-apiserver").exists()
        assert command == "test ./..."
