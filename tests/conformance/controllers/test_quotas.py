"""Whatever happened to quotas and what they count: once it stops, each says what is used."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.quotas import Quotas


@pytest.mark.parametrize("seed", range(10))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Quotas(), seed)
