"""``steersman down``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steersman.cli import down

#: A control plane as far as the command can see: it announces itself, and ends when it is asked to, or does not.
PROGRAM = """\
import signal, sys
from pathlib import Path
from steersman.controlplane.running_planes import Announcement, RunningPlane, running_directory
import os
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
name = sys.argv[4]
plane = RunningPlane(pid=os.getpid(), url=sys.argv[1], kubeconfig="/k/admin.kubeconfig", data_dir=sys.argv[2], name=name)
Announcement.make(plane, directory=running_directory())
print("ready", flush=True)
signal.sigwait([signal.SIGTERM if sys.argv[3] == "obeys" else signal.SIGUSR1])
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@contextmanager
def plane(url: str, data_dir: str, behavior: str = "obeys", name: str = "") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROGRAM, url, data_dir, behavior, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_down_stops_the_only_control_plane(capsys) -> None:
    with plane("https://one", "/d") as process:
        assert down.run([]) == 0
        assert process.wait() == 0
    assert capsys.readouterr().out == "https://one has stopped; its data is in /d\n"


def test_down_requires_a_name_of_several(capsys) -> None:
    with plane("https://one", "/d/one") as one, plane("https://two", "") as two:
        assert down.run([]) == 1
        assert "2 run; say which, or --all" in capsys.readouterr().err
        assert down.run(["--data-dir=/d/one"]) == 0
        assert one.wait() == 0
        assert down.run(["--data-dir=/k"]) == 0
        assert two.wait() == 0
    assert capsys.readouterr().out.splitlines() == [
        "https://one has stopped; its data is in /d/one",
        "https://two has stopped",
    ]


def test_down_all_stops_every_control_plane() -> None:
    with plane("https://one", "/d/one") as one, plane("https://two", "/d/two") as two:
        assert down.run(["--all"]) == 0
        assert (one.wait(), two.wait()) == (0, 0)


def test_down_reports_a_control_plane_that_does_not_stop(capsys) -> None:
    with plane("https://one", "/d", "resists"):
        assert down.run(["--timeout=100ms"]) == 1
    assert "runs after 0.1 s yet" in capsys.readouterr().err


def test_down_reports_that_none_runs(capsys) -> None:
    assert down.run([]) == 1
    assert down.run(["--data-dir=/d"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "steersman: no control plane of yours runs",
        "steersman: no control plane of yours runs in /d",
    ]


def test_down_stops_the_named_one(capsys) -> None:
    with plane("https://one", "", name="a") as one, plane("https://two", "", name="b") as two:
        assert down.run([]) == 1
        assert capsys.readouterr().err == "steersman: 2 run; say which, or --all\n  a\n  b\n"
        assert down.run(["c"]) == 1
        assert "no control plane named 'c' runs here; running: a, b" in capsys.readouterr().err
        assert down.run(["b"]) == 0
        assert two.wait() == 0
        assert one.poll() is None
        assert down.run([]) == 0
