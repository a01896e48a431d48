"""Whatever happened to devices, claims and rules: once it stops, pods on tainted devices are gone, and no others."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.devicetaints import Devicetaints
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(6))
async def test_it_becomes_as_the_taints_say(seed):
    await play(Devicetaints(), seed)
