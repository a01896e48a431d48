from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import AllowAllBut, Server

from steersman.apiserver.admission.interface import Attributes, Operation
from steersman.apiserver.admission.node_audiences import Audiences

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
AMOUNT = {"accessModes": ["ReadWriteOnce"]}


async def ask(server, volume, audience):
    attributes = Attributes(
        Operation.CREATE,
        server.registry.get("", "v1", "serviceaccounts"),
        server.context("serviceaccounts"),
        name="s",
        obj={"metadata": {"name": "s"}},
    )
    audiences = Audiences(
        lambda name: server.registry.stored(name).cache, AllowAllBut("request-serviceaccounts-token-audience")
    )
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"volumes": [{"name": "v", **volume}]}}
    await audiences.check(attributes, [audience], pod)


async def with_volume(server, claim):
    spec = {"tokenRequests": [{"audience": "x"}]}
    await server.make("/apis/storage.k8s.io/v1/csidrivers", metadata={"name": "d.example.com"}, spec=spec)
    source = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}, "capacity": {"storage": "1Gi"}}
    await server.make("/api/v1/persistentvolumes", metadata={"name": "pv"}, spec={**AMOUNT, **source})
    claim_spec = {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv"}
    await server.make(CLAIMS, metadata={"name": claim}, spec={**AMOUNT, **claim_spec})


@pytest.mark.parametrize(
    ("claim", "volume"),
    [("c", {"persistentVolumeClaim": {"claimName": "c"}}), ("p-v", {"ephemeral": {"volumeClaimTemplate": {}}})],
)
async def test_csi_driver_of_a_bound_claim_allows_its_audiences(claim, volume):
    async with Server() as server:
        await with_volume(server, claim)
        await ask(server, volume, "x")
        with pytest.raises(Exception, match='audience "y" not found in pod spec volume'):
            await ask(server, volume, "y")


async def test_missing_claim_allows_no_audience():
    async with Server() as server:
        with pytest.raises(Exception, match='audience "x" not found'):
            await ask(server, {"persistentVolumeClaim": {"claimName": "c"}}, "x")
