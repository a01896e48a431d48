from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import AllowAllBut, Server

from steersman.apiserver.admission.chain import ORDER, AdmissionChain
from steersman.apiserver.admission.optional import optional_plugins

TOLD = {"EventRateLimit": {"limits": [{"type": "Server", "qps": 1, "burst": 1}]}}


async def test_each_is_made_under_its_name_and_has_its_place():
    async with Server() as server:
        makers = optional_plugins(server.registry, authorizer=AllowAllBut(), configurations=TOLD)
        made = {name: make().name for name, make in makers.items()}
        assert list(made) == list(made.values())
        assert set(made) <= set(ORDER)
        AdmissionChain([make() for make in makers.values()])


async def test_some_need_a_configuration():
    async with Server() as server:
        makers = optional_plugins(server.registry, authorizer=AllowAllBut())
        with pytest.raises(ValueError, match="limits: must not be empty"):
            makers["EventRateLimit"]()
