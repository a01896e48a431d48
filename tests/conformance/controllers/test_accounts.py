"""Whatever happened to accounts and their Secrets: once it stops, all have what the documentation says, and no more."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.accounts import Accounts
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Accounts(), seed)
