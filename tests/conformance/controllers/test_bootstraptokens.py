"""Whatever happened to bootstrap tokens: once it stops, the living ones sign, and the expired ones are gone."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.bootstraptokens import Bootstraptokens
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Bootstraptokens(), seed)
