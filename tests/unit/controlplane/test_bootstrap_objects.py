"""Priority classes and the service range."""

from datetime import UTC, datetime

from steersman.controlplane.bootstrap_objects import bootstrap_priority_classes, bootstrap_service_cidr
from steersman.testing import InProcessAPIServer


async def test_they_are_there_after_a_start_and_stay_as_they_are():
    async with InProcessAPIServer() as server:
        classes = (await server.request("GET", "/apis/scheduling.k8s.io/v1/priorityclasses")).json()["items"]
        values = {item["metadata"]["name"]: item["value"] for item in classes}
        assert values == {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
        cidr = (await server.request("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")).json()
        assert cidr["spec"]["cidrs"] == ["10.0.0.0/24"]
        assert cidr["status"]["conditions"][0]["type"] == "Ready"
        before = server.store.revision
        await bootstrap_priority_classes(server.core.client)
        await bootstrap_service_cidr(server.core.client, ["10.9.0.0/24"], now=datetime(2030, 1, 1, tzinfo=UTC))
        assert server.store.revision == before
