"""The server's own range."""

from datetime import UTC, datetime

from steersman.controlplane.bootstrap.default_service_cidr import bootstrap_service_cidr
from steersman.testing import InProcessAPIServer


async def test_default_service_cidr_is_ready_after_a_start_and_unchanged_by_the_next():
    async with InProcessAPIServer() as server:
        cidr = (await server.request("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")).json()
        assert cidr["spec"]["cidrs"] == ["10.0.0.0/24"]
        assert cidr["status"]["conditions"][0]["type"] == "Ready"
        before = server.store.revision
        await bootstrap_service_cidr(server.core.client, ["10.9.0.0/24"], now=datetime(2030, 1, 1, tzinfo=UTC))
        assert server.store.revision == before
