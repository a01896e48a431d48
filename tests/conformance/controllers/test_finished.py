"""Random scenarios of finished Jobs: exactly the expired ones are deleted."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.finished import Finished
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_finished_scenario_converges(seed):
    await play(Finished(), seed)
