"""Whatever happened to Nodes: once it stops, each has what it is to have, and none has another's."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.ranges import Ranges


@pytest.mark.parametrize("seed", range(5))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Ranges(), seed)
