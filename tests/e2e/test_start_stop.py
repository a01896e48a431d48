"""A start that is stopped at a named moment leaves nothing behind, and a start that ends is ready."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS, without_speed_reports
from tests.e2e.conftest import Kubectl

from steersman.testing import ControlPlane

MOMENTS_FOLDER = Path(__file__).parent / "moments"
#: Identifies the processes of one start in ``/proc``.
MARK = "STEERSMAN_TEST_MARK"

#: One moment of each phase of a start, apart from ``DATA_MOMENTS``; ``scripts/start_stop.py`` stops at random moments.
UP_MOMENTS = [
    "up steersman.controlplane.child_process",
    "up steersman.controlplane.process:run_until_stopped",
    "up steersman.controlplane.bootstrap.post_start_hooks:PostStartHooks.run",
    "up steersman.controlplane.up:wait_until_ready",
    "up steersman.controlplane.up:print_lines",
    "components steersman.controlplane.child_process:receive_arguments",
    "components steersman.runtime.manager:Manager._start_informers",
    "components steersman.controlplane.readiness:ReadinessReporter._write",
]
#: Moments at which consecutive starts with one data directory are stopped.
DATA_MOMENTS = [
    "up steersman.storage.sqlite.files:Files.open",
    "up steersman.controlplane.apiserver:ensure_pki",
    "up steersman.controlplane.bootstrap.post_start_hooks:create_default_service_accounts",
    "components steersman.nodes.registration:NodeController._register",
]
ALONE_MOMENTS = [
    "nodes steersman.nodes.pods",
    "nodes steersman.runtime.manager:Manager._start_informers",
    "nodes steersman.nodes.registration:NodeController._register",
    "scheduler steersman.client.leaderelection.elector:LeaderElector.run",
    "scheduler steersman.scheduler.scheduler:Scheduler.run",
    "controller-manager steersman.controllers.manager.assembly:add_controllers",
    "controller-manager steersman.runtime.manager:Manager._start_informers",
]


class Start:
    """A command in an empty environment of its own."""

    def __init__(self, folder: Path, *arguments: str, moment: str = "", signals: str = "SIGTERM", **more: str) -> None:
        self.folder = folder
        for name in ("tmp", "state", "home"):
            (folder / name).mkdir(exist_ok=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
            "PYTHONPATH": os.pathsep.join([str(MOMENTS_FOLDER), *filter(None, sys.path)]),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "XDG_STATE_HOME": str(folder / "state"),
            MARK: str(folder),
            "STEERSMAN_SIGNALS": signals,
            **({"STEERSMAN_MOMENT": moment} if moment else {}),
            **more,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "steersman", *arguments],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ended(self) -> tuple[int, str]:
        """Exit code and log without reports of speed, once the process has ended and nothing is left of it."""
        _, log = self.process.communicate(timeout=HANG_SECONDS)
        assert survivors(str(self.folder)) == []
        assert list((self.folder / "tmp").iterdir()) == []
        assert list((self.folder / "state").glob("steersman/running/*")) == []
        assert "did not end within" not in log
        assert "Traceback" not in log
        return self.process.returncode, without_speed_reports(log)


def survivors(mark: str) -> list[str]:
    """Return the command lines of running processes of a start."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}\0".encode() in (folder / "environ").read_bytes():
                pids.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return pids


@pytest.mark.parametrize("moment", UP_MOMENTS)
def test_up_ends_orderly_when_stopped_at(moment: str, tmp_path: Path) -> None:
    arguments = ["up", "--port=0", f"--data-dir={tmp_path}/data"]
    assert Start(tmp_path, *arguments, moment=moment).ended() == (0, "")


@pytest.mark.parametrize(
    ("moment", "signals"),
    [
        ("up steersman.controlplane.core", "SIGINT"),
        ("up steersman.controlplane.bootstrap.post_start_hooks:PostStartHooks.run", "SIGTERM SIGTERM"),
        ("components steersman.runtime.manager:Manager._start_informers", "SIGINT SIGTERM SIGINT"),
        ("up steersman.controlplane.up:print_lines", "SIGINT SIGTERM SIGINT"),
    ],
)
def test_up_ends_orderly_with_signals(moment: str, signals: str, tmp_path: Path) -> None:
    code, _ = Start(tmp_path, "up", "--ephemeral", "--port=0", moment=moment, signals=signals).ended()
    assert code == 0


@pytest.mark.parametrize("moment", ALONE_MOMENTS)
def test_component_alone_ends_orderly_when_stopped_at(moment: str, tmp_path: Path, cluster: ControlPlane) -> None:
    command, _, _ = moment.partition(" ")
    serving = [] if command == "nodes" else ["--secure-port=0"]
    started = Start(tmp_path, command, f"--kubeconfig={cluster.kubeconfig}", *serving, moment=moment)
    assert started.ended() == (0, "")


def test_apiserver_ends_orderly_when_stopped_while_it_starts(tmp_path: Path) -> None:
    moment = "apiserver steersman.controlplane.bootstrap.post_start_hooks:PostStartHooks.run"
    assert Start(tmp_path, "apiserver", "--ephemeral", "--port=0", moment=moment).ended() == (0, "")


@pytest.mark.interpreted
def test_data_directory_of_a_stopped_start_can_be_opened(tmp_path: Path) -> None:
    """Each start takes over what the one before left at its moment."""
    for moment in DATA_MOMENTS:
        started = Start(tmp_path, "up", "--port=0", f"--data-dir={tmp_path}/data", moment=moment)
        assert started.ended() == (0, "")
    with ControlPlane(whole=True, ephemeral=False, data_dir=tmp_path / "data") as plane:
        assert plane.url


@pytest.mark.parametrize("moment", ["", "up steersman.controlplane.bootstrap.post_start_hooks:PostStartHooks.run"])
def test_up_ends_when_its_parent_does(moment: str, tmp_path: Path) -> None:
    """The parent is a shell that ends at once; ``SIGWINCH`` means nothing to ``up``."""
    reader, writer = os.pipe()
    code = (
        "import os, subprocess, sys; held, kept = os.pipe(); os.set_inheritable(held, True);"
        "subprocess.Popen([sys.executable, '-m', 'steersman', 'up', '--ephemeral', '--port=0', f'--parent-pipe={held}'],"
        " close_fds=False)"
    )
    (tmp_path / "tmp").mkdir()
    environment = {
        **os.environ, "TMPDIR": str(tmp_path / "tmp"), "XDG_STATE_HOME": str(tmp_path), MARK: str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(MOMENTS_FOLDER), *filter(None, sys.path)]), "STEERSMAN_SIGNALS": "SIGWINCH",
        **({"STEERSMAN_MOMENT": moment} if moment else {}),
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, pass_fds=[writer], stdout=writer)
    os.close(writer)
    while os.read(reader, 4096):  # until the last process that holds the other end has ended
        pass
    os.close(reader)
    assert survivors(str(tmp_path)) == []
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[ControlPlane]:
    """A whole control plane that has crashed once: its node was Ready before."""
    plane = ControlPlane(whole=True, ephemeral=False, data_dir=tmp_path / "data")
    plane.start()
    plane.kill()
    with plane:
        yield plane


def test_first_pod_is_admitted_and_bound_when_up_is_ready(tmp_path: Path) -> None:
    with ControlPlane(whole=True) as plane:
        kubectl = Kubectl(plane, tmp_path)
        kubectl.run("run", "first", "--image=nginx")
        ready = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
        assert kubectl.run("get", "nodes", "-o", ready) == "True"
        kubectl.run("wait", "--for=condition=Ready", "pod/first", f"--timeout={HANG_SECONDS}s")


def test_first_pod_runs_after_a_crash(restarted: ControlPlane, tmp_path: Path) -> None:
    kubectl = Kubectl(restarted, tmp_path)
    kubectl.run("run", "first", "--image=nginx")
    kubectl.run("wait", "--for=condition=Ready", "pod/first", f"--timeout={HANG_SECONDS}s")


def test_up_is_ready_without_nodes(tmp_path: Path) -> None:
    with ControlPlane(whole=True, nodes=0) as plane:
        kubectl = Kubectl(plane, tmp_path)
        kubectl.run("run", "first", "--image=nginx")
        assert kubectl.get("nodes")["items"] == []


def test_up_is_ready_without_the_serviceaccount_controller(tmp_path: Path) -> None:
    with ControlPlane(whole=True, arguments=["--controllers=*,-serviceaccount-controller"]) as plane:
        assert Kubectl(plane, tmp_path).get("serviceaccounts", "-n", "default")["items"] == []


def test_up_fails_when_its_components_crash(tmp_path: Path) -> None:
    """Each process of the components is killed at its first look at the server."""
    moment = "components steersman.controllers.manager.assembly:wait_for_server"
    environment = {"STEERSMAN_TARGET": "self"}
    started = Start(tmp_path, "up", "--ephemeral", "--port=0", moment=moment, signals="SIGKILL", **environment)
    _, log = started.process.communicate(timeout=HANG_SECONDS)
    assert started.process.returncode == 1
    assert "steersman: the components process ended 3 times before it was ready, with code -9" in log
    assert survivors(str(tmp_path)) == []
    assert started.process.returncode != -signal.SIGKILL
