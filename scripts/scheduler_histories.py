"""Play random histories of the scheduler, and check that each ends with every pod bound that fits.

    scripts/scheduler_histories.py --histories 500 --seed 1

Nodes, pods and claims come and go, requests and watches fail, the scheduler crashes and is started anew. Exits with 1 at
the first history that does not end well, and tells its seed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conformance.scheduler.harness import STEPS, play


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    logging.disable(logging.ERROR)
    begun = time.monotonic()
    for seed in range(arguments.seed, arguments.seed + arguments.histories):
        try:
            asyncio.run(play(seed, steps=arguments.steps))
        except AssertionError as wrong:
            print(wrong, file=sys.stderr)
            return 1
        gc.collect()  # a cluster is full of cycles, and the collector would wait for hundreds of them
    print(f"{arguments.histories} histories ended well ({time.monotonic() - begun:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
