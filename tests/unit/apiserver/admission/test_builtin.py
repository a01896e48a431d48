from __future__ import annotations

import random

from tests.unit.apiserver.writing import AllowAllBut, Server

from steersman.apiserver.admission.builtin import default_plugins
from steersman.apiserver.admission.chain import ORDER, AdmissionChain


async def test_default_plugins_are_in_the_order():
    async with Server() as server:
        plugins = default_plugins(server.registry.stored, authorizer=AllowAllBut(), dice=random.Random(1))
        names = [plugin.name for plugin in plugins]
        assert len(set(names)) == len(names)
        assert set(names) <= set(ORDER)
        AdmissionChain(plugins)
