"""A flood from one user, on a started server with few seats."""

import asyncio
import json
import ssl
from collections import Counter
from http import HTTPStatus

import aiohttp
import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.testing import ControlPlane

#: Connections of the flood, and requests that the other user makes meanwhile.
CONNECTIONS = 60
REQUESTS = 30
SEATS = ("--max-requests-inflight=8", "--max-mutating-requests-inflight=4")
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
ACCOUNT = "system:serviceaccount:default:"


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
        """Return the token of a new service account that may write ConfigMaps."""
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

    async def write(self, token: str) -> int:
        code, _ = await self.send(token, "POST", CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
        return code

    async def call_for_each_write(self, url: str) -> None:
        """Have a webhook called for each new ConfigMap."""
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
        webhook = {
            "name": "gate.example.com",
            "clientConfig": {"url": url, "caBundle": ca_bundle()},
            "rules": [rule],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 30,
        }
        body = {"metadata": {"name": "gate"}, "webhooks": [webhook]}
        code, text = await self.send(self._cluster.token, "POST", WEBHOOKS, body)
        assert code == HTTPStatus.CREATED, text


class Executions:
    """Webhook that notes whose requests are executed, one after the other.

    The server executes no request without it, so that the numbers of executions do not depend on the speed of the client.
    """

    def __init__(self) -> None:
        self.accounts: list[str] = []

    async def respond(self, _path: str, review: dict) -> bytes:
        request = review["request"]
        self.accounts.append(request["userInfo"]["username"].removeprefix(ACCOUNT))
        return http_response({**review, "response": {"uid": request["uid"], "allowed": True}})


@pytest.fixture
def cluster():
    with ControlPlane(ephemeral=False, arguments=SEATS) as started:
        yield started


async def test_flood_of_one_user_does_not_starve_others(cluster):
    """Another user's request is executed after a few of the flood, not after its whole queue."""
    executions = Executions()
    async with Api(cluster) as api, WebhookServer(executions.respond) as hook:
        flood, alice = await api.user("flood"), await api.user("alice")
        await api.call_for_each_write(f"{hook.url}/note")
        under_way, over = asyncio.Event(), asyncio.Event()
        codes: Counter[int] = Counter()

        async def pour() -> None:
            while not over.is_set():
                codes[await api.write(flood)] += 1
                if codes[HTTPStatus.CREATED] >= CONNECTIONS:
                    under_way.set()

        pouring = [asyncio.create_task(pour()) for _ in range(CONNECTIONS)]
        await asyncio.wait_for(under_way.wait(), HANG_SECONDS)
        answers, executed_before = [], []
        for _ in range(REQUESTS):
            begin = len(executions.accounts)
            answers.append(await api.write(alice))
            executed_before.append(executions.accounts[begin:].index("alice"))
        _, metrics = await api.send(cluster.token, "GET", "/metrics")
        over.set()
        await asyncio.gather(*pouring)
    assert answers == [HTTPStatus.CREATED] * REQUESTS
    assert set(codes) <= {HTTPStatus.CREATED, HTTPStatus.TOO_MANY_REQUESTS}
    # Of the quickest ones: queues that were not served during a long request are owed that time.
    assert sorted(executed_before)[REQUESTS // 4] < CONNECTIONS / 3, executed_before
    assert 'apiserver_flowcontrol_request_wait_duration_seconds_count{flow_schema="service-accounts"' in metrics
