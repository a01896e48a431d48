"""Random scenarios of StatefulSets: all converge to their specs."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.statefulset import Statefulset


@pytest.mark.parametrize("seed", range(10))
async def test_statefulset_scenario_converges(seed):
    await play(Statefulset(), seed)
