"""Run fault campaigns: components reach the API server over TCP through a proxy that makes requests fail.

    python -m scripts.faults --seed 1 --minutes 30

Each campaign rolls out a Deployment of 50 replicas and a StatefulSet, runs a Job and deletes a Deployment, while 3 % of the
requests get 429, 4 % 500, 3 % 409, others are reset, delayed or duplicated, answers are lost and watches cut. It ends with
exit code 1 at the first campaign that does not converge within 30 seconds after the faults have stopped or, where no
answers were lost, that violates the limits of the rollout. ``scripts/histories.py faults`` plays campaigns on a virtual clock,
without TCP: such a campaign is repeated exactly by its seed.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conformance.faults import over_tcp


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the first campaign; the next ones follow")
    parser.add_argument("--minutes", type=float, default=30.0, help="no campaign starts after this time")
    arguments = parser.parse_args()
    logging.disable(logging.ERROR)
    end = time.monotonic() + arguments.minutes * 60
    seed = arguments.seed
    while seed == arguments.seed or time.monotonic() < end:
        for ambiguous in (False, True):
            try:
                result = asyncio.run(_play(seed, ambiguous=ambiguous))
            except AssertionError as wrong:
                print(f"seed {seed}, ambiguous {ambiguous}: {wrong}", file=sys.stderr)
                return 1
            print(f"seed {seed}, ambiguous {ambiguous}: {result}", flush=True)
        seed += 1
    return 0


async def _play(seed: int, *, ambiguous: bool) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        return await over_tcp.play(seed, Path(folder), ambiguous=ambiguous)


if __name__ == "__main__":
    sys.exit(main())
