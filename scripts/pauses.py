"""Run a command while processes of it pause at random, as on a machine that is too busy to run them.

    scripts/pauses.py --seed 1 -- .venv/bin/python -m pytest -n 0 tests/e2e

A pause is a SIGSTOP that is followed by a SIGCONT, of one to three processes that the command has started. The choice and the
length follow the seed; the moments depend on the machine. The exit code is that of the command.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PROCESSES_MAX = 3


def descendants(pid: int) -> list[int]:
    """Return the child processes of a process, recursively."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    pids = list(children.get(pid, ()))
    for child in pids:  # grows meanwhile
        pids += children.get(child, ())
    return pids


@contextmanager
def paused(pids: Iterable[int]) -> Iterator[None]:
    """Suspend processes until the block ends; ended ones are skipped."""
    stopped = []
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
        yield
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def run(command: list[str], *, seed: int, interval_seconds: float, seconds_max: float) -> int:
    """Run the command with pauses of up to ``seconds_max``, in intervals; return its exit code."""
    dice = random.Random(seed)
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            time.sleep(dice.uniform(0, 2 * interval_seconds))
            pids = descendants(process.pid)
            with paused(dice.sample(pids, min(len(pids), dice.randint(1, _PROCESSES_MAX)))):
                time.sleep(dice.random() ** 2 * seconds_max)  # short ones more often
    return process.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--interval", type=float, default=0.3, help="mean seconds between two pauses")
    parser.add_argument("--longest", type=float, default=1.5, help="seconds")
    args = parser.parse_args()
    return run(args.command, seed=args.seed, interval_seconds=args.interval, seconds_max=args.longest)


if __name__ == "__main__":
    sys.exit(main())
