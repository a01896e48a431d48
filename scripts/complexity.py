"""Measure how the cost of requests grows with each list, map and text of every built-in kind, and other sizes.

    python scripts/complexity.py [--sizes 1000 10000] [--only Pod] [--above 1.2]
    python scripts/complexity.py --requests [apply]   # patches, selectors, lists, custom resources, discovery; by name

Prints a row per (kind, field) whose exponent is above the given one or whose largest size costs more than a second of CPU.
Of ``--requests`` it prints all rows.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from tests.complexity.custom import CUSTOM_REQUESTS, create_definition
from tests.complexity.measuring import cases, exponent, measure, started
from tests.complexity.requests import REQUESTS, measure_request

from steersman.testing import InProcessAPIServer


async def measure_requests(server: InProcessAPIServer, options: argparse.Namespace) -> int:
    """Print a row per request; return how many have an exponent or cost above the given ones."""
    rows = 0
    await create_definition(server)
    for sized in (*REQUESTS, *CUSTOM_REQUESTS):
        if options.requests not in sized.name:
            continue
        small, large = [await measure_request(server, sized, size) for size in options.sizes]
        seconds, power = large.seconds[sized.name], exponent(small, large, sized.name)
        is_above = seconds > options.seconds or (power > options.above and seconds > options.floor)
        rows += is_above
        print(
            f"{sized.name:60} {large.codes[sized.name]} {large.size:6} {seconds:7.3f} s  n^{power:.2f}"
            f"{' above' if is_above else ''}",
            flush=True,
        )
        gc.collect(1)
    return rows


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs=2, default=(1000, 10_000))
    parser.add_argument("--only", default="", help="one kind")
    parser.add_argument("--field", default="", help="part of a field's path")
    parser.add_argument("--above", type=float, default=1.2)
    parser.add_argument("--seconds", type=float, default=1.0, help="cost of the largest size that is reported")
    parser.add_argument("--floor", type=float, default=0.05, help="seconds below which an exponent says nothing")
    parser.add_argument("--requests", nargs="?", const="", help="requests whose names contain this; default: all")
    options = parser.parse_args()
    rows = count = 0
    gc.disable()
    async with InProcessAPIServer() as server:
        await started(server)
        if options.requests is not None:
            return 1 if await measure_requests(server, options) else 0
        for kind, growth in cases():
            if (options.only and kind.resource.kind != options.only) or options.field not in growth.label:
                continue
            small_size, size = options.sizes
            while (large := await measure(server, kind, growth, size)) is None and size > small_size * 2:
                size //= 2
            if large is None:
                continue
            small = await measure(server, kind, growth, max(1, size * small_size // options.sizes[1]))
            assert small is not None
            count += 1
            for label, seconds in large.seconds.items():
                power = exponent(small, large, label)
                if seconds > options.seconds or (power > options.above and seconds > options.floor):
                    rows += 1
                    code = large.codes[label]
                    print(
                        f"{kind.resource.kind:30} {growth.label:70} {label:12} {code} {size:6} {seconds:7.3f} s  n^{power:.2f}",
                        flush=True,
                    )
    print(f"{count} fields measured, {rows} rows reported")
    return 1 if rows else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
