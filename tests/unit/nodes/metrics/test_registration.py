"""Registration of the metrics server."""

from contextlib import asynccontextmanager

import pytest

from steersman.client import Client, tree
from steersman.client.errors import NotFound
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.nodes.metrics.registration import (
    API_SERVICE,
    API_SERVICES,
    NAME,
    NAMESPACE,
    OtherServerError,
    front_proxy_ca,
    register,
    unregister,
)
from steersman.testing import InProcessAPIServer

SERVICES = tree("v1", "Service")


@asynccontextmanager
async def connected():
    async with InProcessAPIServer() as server:
        yield Client(LoopbackTransport(server.core.client))


async def test_register_updates_the_port_and_unregister_leaves_nothing():
    async with connected() as client:
        for port in (1001, 1002):
            await register(client, port, b"ca")
        assert (await client.get(API_SERVICES, API_SERVICE))["spec"]["service"]["port"] == 1002
        assert (await client.get(SERVICES, NAME, namespace=NAMESPACE))["spec"]["externalName"] == "localhost"
        await unregister(client)
        with pytest.raises(NotFound):
            await client.get(API_SERVICES, API_SERVICE)
        await unregister(client)


async def test_register_does_not_replace_another_metrics_server():
    spec = {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "other", "namespace": "default"},
    }
    async with connected() as client:
        metadata = {"name": API_SERVICE}
        await client.create(
            {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}
        )
        with pytest.raises(OtherServerError):
            await register(client, 1001, b"ca")
        await unregister(client)
        assert (await client.get(API_SERVICES, API_SERVICE))["spec"]["service"]["name"] == "other"


async def test_front_proxy_ca_is_read_from_the_published_config_map():
    async with connected() as client:
        await client.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "extension-apiserver-authentication", "namespace": NAMESPACE},
                "data": {"requestheader-client-ca-file": "pem"},
            }
        )
        assert await front_proxy_ca(client) == b"pem"
