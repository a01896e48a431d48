"""No list, map or text of a built-in kind makes a create quadratic. ``scripts/complexity.py`` measures more, and longer."""

from __future__ import annotations

import gc
from functools import partial

import pytest
from tests.complexity.custom import CUSTOM_REQUESTS, create_definition
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


async def lowest(attempts, measured, name):
    """Return the lowest cost of several measurements: what runs beside a test can only add to a cost."""
    costs = [await measured() for _ in range(attempts)]
    return min(costs, key=lambda cost: cost.seconds[name])


async def is_too_steep(measured, name, large):
    """Measure the small object, and the large one again if its first cost looks too steep.

    ``measured`` returns the cost at a size; ``large`` is the first cost of the large object.
    """
    small = await lowest(3, lambda: measured(SMALL), name)
    if exponent(small, large, name) <= EXPONENT_MAX:
        return False
    return exponent(small, await lowest(3, lambda: measured(LARGE), name), name) > EXPONENT_MAX


@pytest.mark.parametrize("chunk", range(0, len(CASES), CHUNK))
async def test_create_cost_grows_less_than_quadratically(server, chunk):
    too_steep = []
    for kind, growth in CASES[chunk : chunk + CHUNK]:
        measured = partial(measure, server, kind, growth, only_create=True)
        large = await measured(LARGE)
        if large is None or large.seconds["create"] <= FLOOR_SECONDS:
            continue
        if await is_too_steep(measured, "create", large):
            too_steep.append(f"{kind.resource.kind} {growth.label}")
    assert too_steep == []


@pytest.mark.parametrize("sized", [*REQUESTS, *CUSTOM_REQUESTS], ids=lambda sized: sized.name)
async def test_request_cost_grows_less_than_quadratically(server, sized):
    if sized in CUSTOM_REQUESTS:
        await create_definition(server)
    measured = partial(measure_request, server, sized)
    large = await measured(LARGE)
    assert large.codes[sized.name] == sized.code
    assert large.seconds[sized.name] <= FLOOR_SECONDS or not await is_too_steep(measured, sized.name, large)
