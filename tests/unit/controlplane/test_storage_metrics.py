"""How much is stored."""

from steersman.controlplane.storage_metrics import StorageMetrics
from steersman.testing import InProcessAPIServer


async def test_bytes_and_objects_are_told():
    async with InProcessAPIServer() as server:
        await server.request("GET", "/api/v1/configmaps")
        families = await StorageMetrics(server.store, server.core.resources.registry).collect()
    values = {
        (family.name, *(value for _, value in labels)): n for family in families for _, labels, n in family.samples
    }
    assert values["apiserver_resource_objects", "", "namespaces"] == 4
    assert values["apiserver_resource_objects", "", "configmaps"] == 0
    assert values["apiserver_storage_size_bytes", "etcd-0"] > 0
