"""The metrics server behind an API server: registration, forwarding, and the end of both."""

from __future__ import annotations

import asyncio
import ssl
from datetime import timedelta

import aiohttp
import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.certificates import make_ca, make_client, make_server
from steersman.asynckit.clock import RealClock
from steersman.client import Client
from steersman.client.errors import NotFound
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.nodes.metrics.registration import API_SERVICE, API_SERVICES, NAMESPACE
from steersman.nodes.metrics.server import MetricsServer, ServingPems
from steersman.nodes.metrics.usage import default_usage
from steersman.runtime.context import ControllerContext
from steersman.testing import InProcessAPIServer

LIFE = timedelta(days=1)
FRONT_PROXY = make_ca("front-proxy-ca", now=RealClock().now(), life=LIFE)


def make_pems(hosts):
    now = RealClock().now()
    authority = make_ca("ca", now=now, life=LIFE)
    pems = make_server("metrics-server", hosts, authority, now=now, life=LIFE)
    return ServingPems(pems.certificate, pems.key, authority.certificate)


@pytest.fixture
async def client():
    async with InProcessAPIServer() as server:
        new_client = Client(LoopbackTransport(server.core.client))
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "extension-apiserver-authentication", "namespace": NAMESPACE},
            "data": {"requestheader-client-ca-file": FRONT_PROXY.certificate.decode()},
        }
        await new_client.create(config)
        yield new_client


async def registered_port(client):
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            try:
                return (await client.get(API_SERVICES, API_SERVICE))["spec"]["service"]["port"]
            except NotFound:
                await asyncio.sleep(0.01)  # noqa: TID251 — the server runs on the real clock


def front_proxy_tls(tmp_path):
    pems = make_client("front-proxy-client", [], FRONT_PROXY, now=RealClock().now(), life=LIFE)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    file = tmp_path / "client.pem"
    file.write_bytes(pems.key + pems.certificate)
    context.load_cert_chain(file)
    return context


async def test_server_answers_api_servers_only_and_unregisters_at_its_end(client, tmp_path):
    server = MetricsServer(ControllerContext(client), default_usage, make_pems)
    running = asyncio.create_task(server.run())
    url = f"https://127.0.0.1:{await registered_port(client)}/"
    async with aiohttp.ClientSession() as session:
        tls = front_proxy_tls(tmp_path)
        for path, code in (
            ("apis/metrics.k8s.io/v1beta1/nodes", 200),
            ("apis/metrics.k8s.io/v1beta1/nodes/missing", 404),
            ("openapi/v3", 200),
            ("openapi/v3/apis/metrics.k8s.io/v1beta1", 200),
            ("readyz", 200),
        ):
            async with session.get(url + path, ssl=tls) as response:
                assert response.status == code
        with pytest.raises(aiohttp.ClientError):
            await session.get(url + "readyz", ssl=False)
    server.stop()
    await running
    with pytest.raises(NotFound):
        await client.get(API_SERVICES, API_SERVICE)
