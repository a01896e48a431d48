"""Whatever happened to Jobs: once it stops, they end, and what they tell is true."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.job import Job


@pytest.mark.parametrize("seed", [*range(10), 1068])
async def test_it_becomes_as_the_specs_say(seed):
    await play(Job(), seed)
