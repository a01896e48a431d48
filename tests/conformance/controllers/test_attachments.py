"""Random scenarios of pods, Nodes and volumes: volumes end up attached where pods need them, and nowhere else."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.attachments import Attachments
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_attachments_scenario_converges(seed):
    await play(Attachments(), seed)
