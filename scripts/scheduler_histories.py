"""Play random histories of the scheduler, and check that each ends with every pod bound that fits.

scripts/scheduler_histories.py --histories 500 --seed 1

Nodes, pods and claims come and go, requests and watches fail, the scheduler crashes and is restarted. Exits with 1 at
the first failing history, and prints its seed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conformance.histories import command_line, play_all
from tests.conformance.scheduler.harness import STEPS, play


def main() -> int:
    arguments = command_line(__doc__, steps=STEPS).parse_args()
    return play_all(lambda seed: play(seed, steps=arguments.steps), arguments, name="scheduler")


if __name__ == "__main__":
    sys.exit(main())
