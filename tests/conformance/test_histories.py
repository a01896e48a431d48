"""Smoke test of ``scripts/histories.py``, which plays random histories with other seeds than the tests."""

import subprocess
import sys
from pathlib import Path

from tests.busy_machine import LONG_HANG_SECONDS

SCRIPT = Path(__file__).parents[2] / "scripts" / "histories.py"


def test_script_plays_a_history():
    command = [sys.executable, SCRIPT, "controllers", "--seeds", "1", "--first", "3", "--only", "namespaces"]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONG_HANG_SECONDS)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout
