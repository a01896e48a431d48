"""Many random histories one after the other, for the command lines in ``scripts/`` that play them."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


def command_line(description: str | None, *, steps: int) -> argparse.ArgumentParser:
    """Return the parser of the common options; ``steps`` is the default length of a scenario."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1, help="of the first one; the others follow")
    parser.add_argument("--steps", type=int, default=steps)
    return parser


def play_all(play: Callable[[int], Coroutine[None, None, None]], arguments: argparse.Namespace, *, name: str) -> int:
    """Call ``play`` with each seed; print the seed of the first scenario that fails, and return 1."""
    logging.disable(logging.ERROR)
    started_at = time.monotonic()
    for seed in range(arguments.seed, arguments.seed + arguments.histories):
        try:
            asyncio.run(play(seed))
        except AssertionError as wrong:
            print(f"{name}: {wrong}", file=sys.stderr)
            return 1
        gc.collect()  # a cluster has many cycles; the collector would find them after hundreds of histories only
    print(f"{name}: {arguments.histories} histories ended well ({time.monotonic() - started_at:.0f} s)")
    return 0
