"""The examples of the pages about first tests, pytest, CI and embedding run as they are printed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.busy_machine import LONG_HANG_SECONDS
from tests.e2e.test_guide_pages import blocks


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Return the output of a successful command."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG_HANG_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pytest_passes(folder: Path) -> None:
    """Run pytest in a folder, and check that its one test passes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    assert "1 passed" in run(command, folder)


def test_first_operator_test_passes(tmp_path: Path) -> None:
    operator, test = blocks("docs/first-operator-test.md", "python")
    (tmp_path / "greeter.py").write_text(operator)
    (tmp_path / "test_greeter.py").write_text(test)
    pytest_passes(tmp_path)


def test_pytest_guide_example_passes(tmp_path: Path) -> None:
    [example] = blocks("docs/test-with-pytest.md", "python")
    (tmp_path / "test_deployment.py").write_text(example)
    pytest_passes(tmp_path)


@pytest.mark.parametrize("number", [0, 1])
def test_embedding_example_runs(number: int, tmp_path: Path) -> None:
    example = tmp_path / "embedded.py"
    example.write_text(blocks("docs/embed.md", "python")[number])
    assert run([sys.executable, str(example)], tmp_path)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_ci_script_rolls_out_a_deployment(tmp_path: Path) -> None:
    [script] = blocks("docs/ci.md", "sh")
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "steersman").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m steersman "$@"\n')
    (commands / "steersman").chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    output = run(
        ["sh", "-e", "-c", script], tmp_path, PATH=path, HOME=str(tmp_path), XDG_STATE_HOME="", XDG_RUNTIME_DIR=""
    )
    assert "successfully rolled out" in output
