"""Random scenarios of devices, claims and rules: exactly the pods on tainted devices are evicted."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.devicetaints import Devicetaints
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(6))
async def test_devicetaints_scenario_converges(seed):
    await play(Devicetaints(), seed)
