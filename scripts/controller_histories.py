"""Play random histories of controllers, and check that each comes to what the specs say.

    scripts/controller_histories.py --story replication --histories 500 --seed 1

Users edit, kubelets report, requests and watches fail, the manager crashes and is started anew. Then nothing goes wrong
any more. Exits with 1 at the first history that does not end well, and tells its seed. What it plays with is in
``tests/conformance/controllers``: a module ``NAME.py`` with a class ``Name`` is a story.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conformance.controllers.harness import STEPS, play


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--story", required=True)
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    logging.disable(logging.ERROR)
    story = getattr(
        importlib.import_module(f"tests.conformance.controllers.{arguments.story}"), arguments.story.title()
    )
    begun = time.monotonic()
    for seed in range(arguments.seed, arguments.seed + arguments.histories):
        try:
            asyncio.run(play(story(), seed, steps=arguments.steps))
        except AssertionError as wrong:
            print(f"{arguments.story}: {wrong}", file=sys.stderr)
            return 1
        gc.collect()  # a cluster is full of cycles, and the collector would wait for hundreds of them
    print(f"{arguments.story}: {arguments.histories} histories ended well ({time.monotonic() - begun:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
