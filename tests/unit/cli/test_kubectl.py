"""``steersman kubectl`` and ``steersman env``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steersman.cli import kubectl
from steersman.controlplane.running_planes import Announcement, RunningPlane, running_directory

#: Prints what it was called with.
FAKE = '#!/bin/sh\necho "$KUBECONFIG $*"\nexit 3\n'


@pytest.fixture
def announce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Let a control plane run, as far as commands can see."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    created: list[Announcement] = []

    def start(name: str = "", kubeconfig: str = "/k/admin.kubeconfig") -> None:
        number = len(created) + 1
        plane = RunningPlane(pid=number, url=f"https://127.0.0.1:{number}", kubeconfig=kubeconfig, name=name)
        created.append(Announcement.make(plane, directory=running_directory()))

    yield start
    for item in created:
        item.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory with a kubectl."""
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / "kubectl"
    program.write_text(FAKE)
    program.chmod(0o755)
    return directory


def run(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "steersman", "kubectl", *arguments],
        env={**os.environ, "PATH": f"{path}:/usr/bin:/bin", "KUBECONFIG": "/other"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_kubectl_runs_with_the_kubeconfig_of_the_only_control_plane(announce, path) -> None:
    announce(kubeconfig="/k/one")
    done = run("get", "pods", "--name=x", path=path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "/k/one get pods --name=x\n", "")


def test_kubectl_runs_with_that_of_the_named_one(announce, path) -> None:
    announce("a", "/k/a")
    announce("b", "/k/b")
    assert run("--name", "b", "version", path=path).stdout == "/k/b version\n"
    assert run("--name=a", path=path).stdout == "/k/a \n"
    undecided = run("get", "pods", path=path)
    assert (undecided.returncode, undecided.stdout) == (1, "")
    assert "2 control planes run here; choose one with --name" in undecided.stderr


def test_kubectl_exits_with_127_and_a_hint_when_not_installed(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert kubectl.run_kubectl(["get", "pods"]) == 127
    error = capsys.readouterr().err
    assert error.startswith("steersman: kubectl is not on $PATH\n")
    assert "https://kubernetes.io/docs/tasks/tools/" in error


def test_kubectl_that_cannot_be_run_is_126(announce, path, monkeypatch, capsys) -> None:
    announce()
    (path / "kubectl").write_text("#!/none/at/all\n")
    monkeypatch.setenv("PATH", str(path))
    assert kubectl.run_kubectl(["get", "pods"]) == 126
    assert "kubectl cannot be run: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "code"), [(["--name"], 2), (["--name", "A"], 2), (["--name=none"], 1)])
def test_kubectl_refuses_names_that_do_not_run(announce, path, monkeypatch, arguments, code) -> None:
    monkeypatch.setenv("PATH", str(path))
    assert kubectl.run_kubectl(arguments) == code


@pytest.mark.parametrize(
    ("arguments", "name", "rest"),
    [
        ([], None, []),
        (["get", "--name", "a"], None, ["get", "--name", "a"]),
        (["--name", "a", "get", "--name", "b"], "a", ["get", "--name", "b"]),
        (["--name=a"], "a", []),
    ],
)
def test_split_name_takes_a_leading_name_only(arguments, name, rest) -> None:
    assert kubectl.split_name(arguments) == (name, rest)


def test_split_name_refuses_what_is_no_label() -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        kubectl.split_name(["--name=A"])


@pytest.mark.parametrize(
    ("shell", "command"),
    [
        ("bash", "export KUBECONFIG='/k k/it'\"'\"'s'\n"),
        ("zsh", "export KUBECONFIG='/k k/it'\"'\"'s'\n"),
        ("sh", "export KUBECONFIG='/k k/it'\"'\"'s'\n"),
        ("fish", "set -gx KUBECONFIG '/k k/it\\'s'\n"),
        ("csh", "setenv KUBECONFIG '/k k/it'\"'\"'s'\n"),
        ("powershell", "$Env:KUBECONFIG = '/k k/it''s'\n"),
    ],
)
def test_env_prints_the_command_of_a_shell(announce, capsys, shell, command) -> None:
    announce("dev", "/k k/it's")
    assert kubectl.run_env([f"--shell={shell}", "--name=dev"]) == 0
    assert capsys.readouterr().out == command


@pytest.mark.parametrize(
    ("own", "command"),
    [
        ("/usr/bin/fish", "set -gx KUBECONFIG '/k'\n"),
        ("/bin/other", "export KUBECONFIG=/k\n"),
        ("", "export KUBECONFIG=/k\n"),
    ],
)
def test_env_takes_the_users_shell(announce, capsys, monkeypatch, own, command) -> None:
    monkeypatch.setenv("SHELL", own)
    announce(kubeconfig="/k")
    assert kubectl.run_env([]) == 0
    assert capsys.readouterr().out == command


def test_env_output_is_understood_by_a_shell(announce, capsys) -> None:
    announce(kubeconfig='/k k/$HOME "it\'s"')
    kubectl.run_env(["--shell=sh"])
    script = capsys.readouterr().out + 'printf %s "$KUBECONFIG"'
    assert (
        subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout == '/k k/$HOME "it\'s"'
    )


def test_env_without_a_control_plane_prints_nothing_to_evaluate(announce, capsys) -> None:
    assert kubectl.run_env([]) == 1
    out, error = capsys.readouterr()
    assert (out, error) == ("", "steersman: no control plane of yours runs here; steersman up starts one\n")
