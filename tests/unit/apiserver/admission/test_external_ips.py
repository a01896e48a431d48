from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.admission.external_ips import DenyServiceExternalIPs
from steersman.apiserver.admission.interface import Attributes, Operation


async def check(before, after):
    async with Server() as server:

        def service(addresses):
            return {"metadata": {"name": "a"}, "spec": {"externalIPs": addresses}}

        written = Attributes(
            Operation.CREATE if before is None else Operation.UPDATE,
            server.registry.get("", "v1", "configmaps"),
            server.context("services"),
            name="a",
            obj=service(after),
            old_object=None if before is None else service(before),
        )
        await DenyServiceExternalIPs().validate(written)


@pytest.mark.parametrize(("before", "after"), [(None, []), (["192.0.2.1", "192.0.2.2"], ["192.0.2.2"])])
async def test_external_ips_can_be_removed(before, after):
    await check(before, after)


@pytest.mark.parametrize(("before", "after"), [(None, ["192.0.2.1"]), (["192.0.2.1"], ["192.0.2.1", "192.0.2.2"])])
async def test_added_external_ips_are_rejected(before, after):
    with pytest.raises(StatusError, match="Use of external IPs is denied by admission control"):
        await check(before, after)
