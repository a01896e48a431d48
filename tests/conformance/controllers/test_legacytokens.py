"""Whatever happened to old tokens: once it stops, those that nobody uses are marked or gone, and only those."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.legacytokens import Legacytokens


@pytest.mark.parametrize("seed", range(10))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Legacytokens(), seed)
