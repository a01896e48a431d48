"""Whatever happened to certificate signing requests: once it stops, each is where the rules bring it, and old ones are gone."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.certificates import Certificates
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Certificates(), seed)
