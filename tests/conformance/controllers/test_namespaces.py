"""Random scenarios of namespaces: deleted ones terminate, the others have their default objects."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.namespaces import Namespaces


@pytest.mark.parametrize("seed", range(10))
async def test_namespaces_scenario_converges(seed):
    await play(Namespaces(), seed)
