"""Random scenarios of owners and dependents: exactly the objects without existing owner are deleted."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.ownership import Ownership


@pytest.mark.parametrize("seed", range(10))
async def test_ownership_scenario_converges(seed):
    await play(Ownership(), seed)
