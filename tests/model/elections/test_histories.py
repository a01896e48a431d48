"""Random histories of elections. The long run is ``scripts/election_histories.py --histories 10000``."""

import subprocess
import sys
from pathlib import Path

from tests.busy_machine import LONG_HANG_SECONDS

SCRIPT = Path(__file__).parents[3] / "scripts" / "election_histories.py"


def test_election_histories_have_one_holder_and_converge_to_the_best():
    result = subprocess.run(
        [sys.executable, SCRIPT, "--histories", "300", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=LONG_HANG_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
