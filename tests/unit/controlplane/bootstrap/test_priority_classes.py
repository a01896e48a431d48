"""Priority classes of the system."""

from steersman.controlplane.bootstrap.priority_classes import bootstrap_priority_classes
from steersman.testing import InProcessAPIServer


async def test_system_priority_classes_are_created_and_not_changed():
    async with InProcessAPIServer() as server:
        classes = (await server.request("GET", "/apis/scheduling.k8s.io/v1/priorityclasses")).json()["items"]
        values = {item["metadata"]["name"]: item["value"] for item in classes}
        assert values == {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
        before = server.store.revision
        await bootstrap_priority_classes(server.core.client)
        assert server.store.revision == before
