"""Every example of ``--help`` runs, as it stands there."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.busy_machine import HANG_SECONDS, without_speed_reports

from steersman.cli.help_pages import PAGES
from steersman.testing import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

_FILES = {
    "nodes.yaml": "nodes:\n- name: large\n  capacity: {cpu: '64'}\n- name: small\n",
    "scheduler.yaml": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
}


def _examples(*commands: str) -> list[str]:
    return [example.command for command in commands for example in PAGES[command].examples]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the files of the examples; the user's directories are in it."""
    for name, text in _FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        directory = tmp_path / name.lower()
        directory.mkdir(mode=0o700)
        monkeypatch.setenv(name, str(directory))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    return tmp_path


@contextmanager
def _start(command: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command; one that is left at the end, after a failed assertion, is killed."""
    arguments = [sys.executable, "-m", "steersman", *shlex.split(command)[1:], *more]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _ready(process: subprocess.Popen[str]) -> str:
    """Wait until the API server is ready; return its kubeconfig, or for ``--merge`` the empty string."""
    assert process.stdout is not None
    first = process.stdout.readline()
    assert " is ready at https://" in first, process.communicate(timeout=HANG_SECONDS)
    return process.stdout.readline().strip().partition("KUBECONFIG=")[2]


def _stop(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=HANG_SECONDS)
    return process.returncode, err


@pytest.fixture
def kubeconfig(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The kubeconfig of a running API server with its data in ``state``, in $KUBECONFIG as well."""
    with _start("steersman apiserver --data-dir=state --name=dev", "--port=0") as server:
        path = str(folder / _ready(server))
        monkeypatch.setenv("KUBECONFIG", path)
        yield path
        if server.poll() is None:
            _stop(server)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("example", _examples("up", "apiserver"))
def test_example_of_a_server_starts(example: str) -> None:
    with _start(example, "--port=0") as server:  # the last port counts: others may use 6443
        _ready(server)
        assert _stop(server)[0] == 0


@pytest.mark.usefixtures("kubeconfig")
def test_examples_of_components_run_against_a_cluster() -> None:
    for example in _examples("controller-manager", "scheduler", "nodes"):
        more = [] if " nodes" in example else ["--port=0"]
        with _start(example, "--v=2", *more) as component:
            assert component.stderr is not None
            log = [component.stderr.readline() for _ in range(2)]
            assert "waiting until the server" in log[0], example
            assert log[1].startswith(("I", "W")), f"{example} ended before it was connected"
            code, err = _stop(component)
            assert code == 0, example
            assert "Traceback" not in err


def _succeed(*examples: str) -> list[str]:
    """Run examples one after the other; return their output."""
    outputs = []
    for example in examples:
        with _start(example) as process:
            out, err = process.communicate(timeout=HANG_SECONDS)
        assert (process.returncode, without_speed_reports(err)) == (0, ""), example
        assert out, example
        outputs.append(out)
    return outputs


@pytest.mark.usefixtures("kubeconfig")
def test_examples_about_running_control_planes_succeed() -> None:
    _succeed(*_examples("status", "env", "elections", "envtest"))


@pytest.mark.usefixtures("folder")
def test_examples_about_a_cluster_of_the_test_kit_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    with Cluster() as cluster:
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
        outputs = _succeed(*_examples("faults"))
    assert "fault 1: partition of scheduler" in outputs[-1]


@pytest.mark.usefixtures("kubeconfig")
@pytest.mark.parametrize("example", _examples("down"))
def test_example_of_down_succeeds(example: str) -> None:
    _succeed(example)


@pytest.mark.usefixtures("kubeconfig")
def test_examples_about_a_data_directory_succeed(etcd_url: str) -> None:
    with _start("steersman apiserver --data-dir=stopped", "--port=0") as server:
        _ready(server)
        assert _stop(server)[0] == 0
    _succeed(*_examples("check", "check-storage", "backup", "repair"))
    transfers = (*_examples("export-to-etcd"), *_examples("import-from-etcd"))
    for output in _succeed(*(example.replace("http://127.0.0.1:2379", etcd_url) for example in transfers)):
        assert "both have the digest" in output


def test_every_command_with_examples_is_run_here() -> None:
    servers = ("up", "apiserver", "controller-manager", "scheduler", "nodes")
    others = (
        "status", "env", "elections", "envtest", "down", "check", "check-storage", "export-to-etcd", "import-from-etcd",
        "backup", "repair", "faults",
    )  # fmt: skip
    tested = _examples(*servers, *others)
    assert sorted(tested) == sorted(example.command for page in PAGES.values() for example in page.examples)
    assert os.path.basename(sys.executable).startswith("python")  # noqa: PTH119 — examples run by this interpreter
