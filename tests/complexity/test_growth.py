"""No list, map or text of a built-in kind makes a create quadratic. ``scripts/complexity.py`` measures more, and longer."""

from __future__ import annotations

import gc

import pytest
from tests.complexity.measuring import cases, exponent, measure, started
from tests.complexity.requests import REQUESTS, measure_request

from steersman.testing import InProcessAPIServer

CASES = list(cases())
#: So many fields are measured by one test, so that processes share them evenly.
CHUNK = 60
SMALL, LARGE = 200, 1600
#: CPU seconds of the large object below which nothing can be quadratic in a way that matters at 10,000 entries.
FLOOR_SECONDS = 0.1
EXPONENT_MAX = 1.5


@pytest.fixture
async def server():
    gc.disable()
    async with InProcessAPIServer() as running:
        yield await started(running)
    gc.enable()


async def lowest_exponent(server, kind, growth):
    """Return the exponent of the lowest costs of three measurements: what runs beside a test can only add to a cost."""
    lowest = []
    for size in (SMALL, LARGE):
        costs = [await measure(server, kind, growth, size, only_create=True) for _ in range(3)]
        lowest.append(min(costs, key=lambda cost: cost.seconds["create"]))
    return exponent(*lowest, "create")


@pytest.mark.parametrize("chunk", range(0, len(CASES), CHUNK))
async def test_create_cost_grows_less_than_quadratically(server, chunk):
    too_steep = {}
    for kind, growth in CASES[chunk : chunk + CHUNK]:
        large = await measure(server, kind, growth, LARGE, only_create=True)
        if large is not None and large.seconds["create"] > FLOOR_SECONDS:
            power = await lowest_exponent(server, kind, growth)
            if power > EXPONENT_MAX:
                too_steep[f"{kind.resource.kind} {growth.label}"] = round(power, 2)
    assert too_steep == {}


@pytest.mark.parametrize("sized", REQUESTS, ids=lambda sized: sized.name)
async def test_request_cost_grows_less_than_quadratically(server, sized):
    lowest = []
    for size in (SMALL, LARGE):
        costs = [await measure_request(server, sized, size) for _ in range(3)]
        lowest.append(min(costs, key=lambda cost: cost.seconds[sized.name]))
    if lowest[1].seconds[sized.name] > FLOOR_SECONDS:
        assert exponent(*lowest, sized.name) < EXPONENT_MAX
