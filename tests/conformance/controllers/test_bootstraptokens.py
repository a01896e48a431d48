"""Random scenarios of bootstrap tokens: valid ones sign, expired ones are deleted."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.bootstraptokens import Bootstraptokens
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_bootstraptokens_scenario_converges(seed):
    await play(Bootstraptokens(), seed)
