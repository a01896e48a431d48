"""Several control planes of one user: ``--name``, ``--merge``, ``status``, ``kubectl``, ``env`` and ``down``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.watching import line_with

MINE = "# mine\napiVersion: v1\nkind: Config\ncurrent-context: ''\nclusters: []\n"


class User:
    """A user with a home of their own."""

    def __init__(self, home: Path) -> None:
        self.config = home / "config"
        self.environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
        self.environment["KUBECONFIG"] = str(self.config)
        self.running: list[subprocess.Popen[str]] = []

    def up(self, name: str) -> None:
        """Start a control plane; returns when it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-m", "steersman", "apiserver", f"--name={name}", "--merge", "--port=0", "--storage=memory"],
            stdout=subprocess.PIPE, text=True, env=self.environment,
        )  # fmt: skip
        self.running.append(process)
        line_with(process, f"the context 'steersman-{name}' is the current one")

    def run(self, *arguments: str, code: int = 0) -> str:
        """Return the output of a command, which must exit with ``code``."""
        done = subprocess.run(
            [sys.executable, "-m", "steersman", *arguments],
            env=self.environment, capture_output=True, text=True, check=False, timeout=HANG_SECONDS,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    new_user = User(tmp_path)
    yield new_user
    for process in new_user.running:
        process.terminate()
        process.communicate(timeout=HANG_SECONDS)


def test_named_control_planes_run_side_by_side(user: User) -> None:
    user.config.write_text(MINE)
    user.up("a")
    user.up("b")
    assert [line.split(":")[0] for line in user.run("status").splitlines() if "https://" in line] == ["a", "b"]
    assert "named 'a' runs already" in user.run("apiserver", "--name=a", "--port=0", "--ephemeral", code=1)
    assert "choose one with --name" in user.run("env", code=1)
    assert user.run("env", "--name=a", "--shell=bash").startswith("export KUBECONFIG=")
    assert "has stopped" in user.run("down", "a")
    assert "steersman-a" not in user.config.read_text()
    assert "current-context: steersman-b" in user.config.read_text()
    assert "has stopped" in user.run("down", "b")
    assert user.config.read_text() == MINE


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_kubectl_reaches_the_named_control_plane(user: User) -> None:
    user.up("a")
    user.up("b")
    user.run("kubectl", "--name", "b", "create", "namespace", "only-in-b")
    assert "namespace/only-in-b" in user.run("kubectl", "--name=b", "get", "namespaces", "--output=name")
    assert "only-in-b" not in user.run("kubectl", "--name=a", "get", "namespaces", "--output=name")
