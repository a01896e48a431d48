"""Random histories of elections. The long run is ``scripts/election_histories.py --histories 10000``."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "scripts" / "election_histories.py"


def test_one_holder_at_a_time_the_best_leads_soon_and_stays():
    result = subprocess.run(
        [sys.executable, SCRIPT, "--histories", "300", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
