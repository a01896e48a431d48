"""Every command of docs/command-line.md does its work, one after the other, in a home without anything in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.watching import line_with

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_commands_of_the_page_run(tmp_path: Path) -> None:
    program = tmp_path / "steersman"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m steersman "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": "", "SHELL": "/bin/bash"}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    environment.pop("KUBECONFIG", None)
    running: list[subprocess.Popen[str]] = []
    outputs: dict[str, str] = {}
    try:
        for command in re.findall(r"^\$ (.*)$", PAGE.read_text(), re.MULTILINE):
            if command.startswith("steersman up"):
                process = subprocess.Popen(command.split(), stdout=subprocess.PIPE, text=True, env=environment)
                running.append(process)
                line_with(process, "export KUBECONFIG=")
                continue
            done = subprocess.run(
                ["bash", "-c", command],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=HANG_SECONDS,
            )
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
            outputs[command] = done.stdout
    finally:
        for process in running:
            process.terminate()
            process.communicate(timeout=HANG_SECONDS)
    assert "dev: https://" in outputs["steersman status"]
    assert f"{tmp_path}/.local/state/steersman/named/dev" in outputs["steersman env --name dev"]
    assert "has stopped" in outputs["steersman down dev"]
