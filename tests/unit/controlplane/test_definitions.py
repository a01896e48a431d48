"""The writer of definitions refuses to go on when it is refused."""

import asyncio

import msgspec
import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.apimachinery.errors import StatusError
from steersman.controlplane.definitions import LoopbackDefinitionWriter
from steersman.testing import InProcessAPIServer

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def test_rejected_status_write_is_logged():
    async with InProcessAPIServer() as server:
        writer = LoopbackDefinitionWriter(server.core.client)
        with pytest.raises(StatusError) as refused:
            await writer.put_status({"metadata": {"name": "none.example.com"}, "spec": {}})
    assert refused.value.code >= 400


async def test_status_is_owned_by_the_server():
    names = {"plural": "shirts", "kind": "Shirt"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    async with InProcessAPIServer() as server:
        body = {"metadata": {"name": "shirts.example.com"}, "spec": spec}
        await server.request("POST", PATH, body=msgspec.json.encode(body))
        await server.core._custom.synced.wait()
        async with asyncio.timeout(HANG_SECONDS):
            while len(owners := owners_of((await server.request("GET", f"{PATH}/shirts.example.com")).json())) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
    assert ("kube-apiserver", "status") in owners


def owners_of(tree: dict) -> set[tuple[str, str | None]]:
    return {(entry["manager"], entry.get("subresource")) for entry in tree["metadata"]["managedFields"]}
