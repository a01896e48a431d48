"""The commands as processes."""

import signal
import subprocess
import sys

import pytest
from tests.busy_machine import HANG_SECONDS, without_speed_reports
from tests.processes import ends_with_its_parent

from steersman.client import ApiError, connect, tree
from steersman.client.transport import Request

ENDPOINTS, CONFIG_MAPS = tree("v1", "Endpoints"), tree("v1", "ConfigMap")


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "steersman", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("command", "number"), [("up", signal.SIGINT), ("apiserver", signal.SIGTERM)])
def test_signal_ends_the_command_with_code_0_and_removes_its_files(command, number, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with start(command, "--ephemeral", "--port=0") as process:
        assert " is ready at https://127.0.0.1:" in process.stdout.readline()
        assert process.stdout.readline().startswith("export KUBECONFIG=")
        process.send_signal(number)
        _, err = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, without_speed_reports(err)) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_apiserver_refuses_a_directory_in_use(tmp_path):
    with start("up", f"--data-dir={tmp_path}", "--port=0") as first:
        first.stdout.readline()
        second = start("up", f"--data-dir={tmp_path}", "--port=0")
        out, err = second.communicate(timeout=HANG_SECONDS)
        assert (second.returncode, out) == (1, "")
        assert f"is in use by process {first.pid}" in err
        assert len(err.splitlines()) == 1
        first.terminate()
        first.communicate(timeout=HANG_SECONDS)


def test_apiserver_ends_with_its_parent(tmp_path):
    arguments = ["-m", "steersman", "apiserver", f"--data-dir={tmp_path}", "--port=0", "--die-with-parent"]
    code = (
        "import subprocess, sys\n"
        f"process = subprocess.Popen([sys.executable, *{arguments}], stdout=subprocess.PIPE, text=True)\n"
        "process.stdout.readline()\n"
        "print(process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    assert ends_with_its_parent(code)


async def test_shutdown_delay_serves_requests_after_readyz_fails_and_the_endpoint_is_withdrawn():
    """The delay does not end within the test: a second signal ends the process."""
    flags = ("--ephemeral", "--port=0", "--advertise-address=192.0.2.10", "--shutdown-delay-duration=24h")
    with start("apiserver", *flags) as process:
        process.stdout.readline()
        kubeconfig = process.stdout.readline().strip().removeprefix("export KUBECONFIG=")
        async with connect(kubeconfig) as client:
            endpoints = await client.get(ENDPOINTS, "kubernetes", namespace="default")
            assert endpoints["subsets"][0]["addresses"] == [{"ip": "192.0.2.10"}]
            version = endpoints["metadata"]["resourceVersion"]
            async with client.watch(ENDPOINTS, namespace="default", resource_version=version) as changes:
                process.send_signal(signal.SIGTERM)
                async for change in changes:
                    if not change.object.get("subsets"):
                        break
            with pytest.raises(ApiError) as failure:
                await client.raw(Request("GET", "/readyz"))
            assert "[-]shutdown failed" in str(failure.value)
            config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
            assert await client.create(config_map)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0
