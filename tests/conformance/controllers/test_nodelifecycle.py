"""Random scenarios of Nodes: taints and pod conditions converge."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.nodelifecycle import Nodelifecycle


@pytest.mark.parametrize("seed", range(10))
async def test_taints_say_how_nodes_are(seed):
    await play(Nodelifecycle(), seed)
