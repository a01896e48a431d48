"""Play random histories: users, faults and crashes, and a check of what must hold. Each seed is one history.

    scripts/histories.py controllers --seeds 200 --first 1000 --only replication

Runs the tests of a subject with other seeds than ``make test``. Each test ends at its first failing seed, with the command that
repeats it and the fewest faults and steps that make it fail.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from steersman.testing.simulation import SEED_VARIABLE

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = {
    "controllers": "tests/conformance/controllers",
    "scheduler": "tests/conformance/scheduler",
    "faults": "tests/conformance/faults/test_faults.py",
    "elections": "tests/model/elections",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", choices=TESTS)
    parser.add_argument("--seeds", type=int, default=200, help="number of histories of each test")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one; the others follow")
    parser.add_argument("--only", default="", metavar="NAME", help="scenario, or an expression of pytest's -k")
    parser.add_argument("--jobs", type=int, default=0, help="processes of pytest-xdist")
    arguments = parser.parse_args()
    seeds = f"{arguments.first}-{arguments.first + arguments.seeds - 1}"
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", str(arguments.jobs), TESTS[arguments.subject]]
    selection = ["-k", arguments.only] if arguments.only else []
    return subprocess.run(
        [*pytest, *selection], cwd=ROOT, env={**os.environ, SEED_VARIABLE: seeds}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
