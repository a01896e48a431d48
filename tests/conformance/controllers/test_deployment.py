"""Whatever happened to Deployments: once it stops, they are rolled out."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.deployment import Deployment
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_it_becomes_as_the_specs_say(seed):
    await play(Deployment(), seed)
