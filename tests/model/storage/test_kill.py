from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.busy_machine import LONG_HANG_SECONDS

SCRIPT = Path(__file__).parents[3] / "scripts" / "kill_storage.py"


@pytest.mark.parametrize("writer", ["process", "thread"])
def test_killed_process_loses_no_acknowledged_write(writer):
    """The long run is ``scripts/kill_storage.py --times 1000``."""
    command = [sys.executable, SCRIPT, "--times", "20", "--writer", writer]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LONG_HANG_SECONDS, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
