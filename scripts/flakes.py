"""Run a test suite many times, in parallel and in random order, and report each run that fails.

    scripts/flakes.py --times 20 --workers 2 --seed 1 examples/testing

The default suite has the examples for operator tests. Run ``n`` has the seed ``seed + n`` for the order of its
tests. Prints the command that repeats each failing run, with the end of its output, and exits with 1 after a failure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_OUTPUT_LINES = 40


def command_of(suite: str, *, workers: int, seed: int) -> list[str]:
    """Return the command of one run."""
    options = ["-q", "-p", "no:cacheprovider", "-n", str(workers), f"--randomly-seed={seed}"]
    return [sys.executable, "-m", "pytest", *options, suite]


def run(suite: str, *, workers: int, seed: int) -> bool:
    """Run the suite once; return True if all tests pass."""
    command = command_of(suite, workers=workers, seed=seed)
    started_at = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    print(
        f"seed {seed}: exit code {done.returncode}, {time.monotonic() - started_at:.0f} s, {lines[-1] if lines else ''}"
    )
    if done.returncode:
        print("repeat it with:", " ".join(command))
        print("\n".join(lines[-_OUTPUT_LINES:]))
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="?", default="examples/testing")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.times)
    failed = [seed for seed in seeds if not run(args.suite, workers=args.workers, seed=seed)]
    print(
        f"{args.times - len(failed)} of {args.times} runs passed" + (f", seeds that failed: {failed}" if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
