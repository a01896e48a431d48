"""Whatever happened to Nodes and pods: once it stops, those that may not stay are gone, and no others."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.evictions import Evictions
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Evictions(), seed)
