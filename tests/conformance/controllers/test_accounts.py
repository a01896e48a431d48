"""Random scenarios of ServiceAccounts and token Secrets: all converge to the documented state."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.accounts import Accounts
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_accounts_scenario_converges(seed):
    await play(Accounts(), seed)
