"""A flood from one user, on a started server with few seats."""

import asyncio
import json
import ssl
from collections import Counter

import aiohttp
import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.testing import ControlPlane

#: Connections of the flood, and requests that the other user makes meanwhile.
CONNECTIONS = 150
REQUESTS = 30
SEATS = ("--max-requests-inflight=8", "--max-mutating-requests-inflight=4")


class Api:
    """One server, and users made for the test."""

    def __init__(self, cluster: ControlPlane) -> None:
        self._cluster = cluster
        self._session: aiohttp.ClientSession

    async def __aenter__(self):
        tls = ssl.create_default_context(cafile=self._cluster.ca)
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls, limit=0))
        return self

    async def __aexit__(self, *failed):
        await self._session.close()

    async def send(self, token: str, method: str, path: str, body: object = None) -> tuple[int, str]:
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body)
        async with self._session.request(method, self._cluster.url + path, headers=headers, data=data) as answer:
            return answer.status, await answer.text()

    async def user(self, name: str) -> str:
        """The token of a new service account that may write ConfigMaps."""
        admin, accounts = self._cluster.token, "/api/v1/namespaces/default/serviceaccounts"
        await self.send(admin, "POST", accounts, {"metadata": {"name": name}})
        binding = {
            "metadata": {"name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
            "roleRef": {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"},
        }
        await self.send(admin, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        _, text = await self.send(admin, "POST", f"{accounts}/{name}/token", {"spec": {}})
        return json.loads(text)["status"]["token"]

    async def write(self, token: str, name: str) -> int:
        path = "/api/v1/namespaces/default/configmaps"
        code, _ = await self.send(token, "POST", path, {"metadata": {"generateName": name}, "data": {"a": "b" * 100}})
        return code


@pytest.fixture
def cluster():
    with ControlPlane(ephemeral=False, arguments=SEATS) as started:
        yield started


async def test_flood_of_one_user_does_not_starve_others(cluster):
    """Another user's request is served after a few of the flood, not after its whole queue."""
    async with Api(cluster) as api:
        flood, alice = await api.user("flood"), await api.user("alice")
        under_way, over = asyncio.Event(), asyncio.Event()
        codes: Counter[int] = Counter()

        async def pour() -> None:
            while not over.is_set():
                codes[await api.write(flood, "flood-")] += 1
                if codes[201] >= CONNECTIONS:
                    under_way.set()

        pouring = [asyncio.create_task(pour()) for _ in range(CONNECTIONS)]
        await asyncio.wait_for(under_way.wait(), HANG_SECONDS)
        answers, served_before = [], []
        for _ in range(REQUESTS):
            before = codes[201]
            answers.append(await api.write(alice, "alice-"))
            served_before.append(codes[201] - before)
        _, metrics = await api.send(cluster.token, "GET", "/metrics")
        over.set()
        await asyncio.gather(*pouring)
        assert answers == [201] * REQUESTS
        assert set(codes) <= {201, 429}
        # Of the quickest ones: on a busy machine this client itself reads other answers first.
        assert sorted(served_before)[REQUESTS // 4] < CONNECTIONS / 3
        queued = 'apiserver_flowcontrol_request_wait_duration_seconds_count{flow_schema="service-accounts"'
        assert queued in metrics
