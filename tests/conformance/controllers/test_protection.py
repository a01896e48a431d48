"""Whatever happened to claims, volumes and classes: nothing goes while it is in use, and nothing stays when it is not."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.protection import Protection


@pytest.mark.parametrize("seed", range(10))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Protection(), seed)
