from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.proxying.kubelet import (
    DIALS_PODS,
    Location,
    backend_unreachable_error,
    kubelet_proxy_location,
    kubelet_unreachable_error,
    node_location,
    upgrade_dial_error,
)

NODES = "/api/v1/nodes"
UNREACHABLE = "this control plane does not connect to nodes and pods"


async def locate(status: dict[str, object]) -> Location:
    async with Server() as server:
        await server.make(NODES, status=status)
        nodes = server.registry.get("", "v1", "nodes")
        await nodes.cache.wait_fresh()
        return node_location(nodes, "a", "/x")


@pytest.mark.parametrize(
    ("addresses", "host"),
    [
        ([{"type": "InternalIP", "address": "10.1.2.3"}, {"type": "Hostname", "address": "h"}], "h"),
        ([{"type": "ExternalIP", "address": "1.2.3.4"}, {"type": "InternalIP", "address": "10.1.2.3"}], "10.1.2.3"),
    ],
)
async def test_node_location_uses_preferred_address_type(addresses, host):
    assert await locate({"addresses": addresses}) == Location(host, "10250", "/x", is_kubelet=True)


async def test_node_location_uses_given_address_types():
    addresses = [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.1.2.3"}]
    async with Server() as server:
        await server.make(NODES, status={"addresses": addresses})
        nodes = server.registry.get("", "v1", "nodes")
        await nodes.cache.wait_fresh()
        assert node_location(nodes, "a", address_types=("InternalIP", "Hostname")).host == "10.1.2.3"


async def test_node_location_uses_port_of_status():
    status = {
        "addresses": [{"type": "Hostname", "address": "h"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1234}},
    }
    assert (await locate(status)).port == "1234"


@pytest.mark.parametrize(("addresses", "existing"), [([], "[]"), ([{"type": "Other", "address": "o"}], "[{Other o}]")])
async def test_node_location_raises_500_without_address(addresses, existing):
    with pytest.raises(StatusError) as refused:
        await locate({"addresses": addresses})
    assert refused.value.code == 500
    assert refused.value.message == f"no preferred addresses found; known addresses: {existing}"


async def test_node_location_raises_404_without_node():
    async with Server() as server:
        nodes = server.registry.get("", "v1", "nodes")
        await nodes.cache.wait_fresh()
        with pytest.raises(StatusError, match='nodes "n" not found'):
            node_location(nodes, "n")


@pytest.mark.parametrize(
    ("value", "way"), [("true", Location("h", "10250", is_kubelet=True)), ("false", None), (None, None)]
)
async def test_way_to_pods_is_kubelet_of_annotated_node(value, way):
    async with Server() as server:
        metadata = {"name": "a", "annotations": {DIALS_PODS: value}} if value else {"name": "a"}
        await server.make(NODES, metadata=metadata, status={"addresses": [{"type": "Hostname", "address": "h"}]})
        nodes = server.registry.get("", "v1", "nodes")
        await nodes.cache.wait_fresh()
        assert kubelet_proxy_location(nodes, "a") == way
        assert kubelet_proxy_location(nodes, "none") is kubelet_proxy_location(nodes, "") is None


def test_location_formats_as_url():
    assert Location("h", "80", "/x").url == "https://h:80/x"
    assert Location("fd00::1", "", scheme="http").url == "http://[fd00::1]"


def test_errors_name_the_location():
    location = Location("h", "80", "/x")
    assert (kubelet_unreachable_error(location).code, kubelet_unreachable_error(location).message) == (
        500,
        f'Get "https://h:80/x": {UNREACHABLE}',
    )
    assert (backend_unreachable_error(location).code, backend_unreachable_error(location).message) == (
        503,
        f"error trying to reach service: h:80: {UNREACHABLE}",
    )


@pytest.mark.parametrize(
    ("headers", "code", "message"),
    [
        ({}, 400, "Upgrade request required"),
        ({"connection": "keep-alive"}, 400, "Upgrade request required"),
        ({"connection": "Upgrade", "upgrade": "websocket"}, 500, f"error dialing backend: h:80: {UNREACHABLE}"),
    ],
)
async def test_no_stream_requires_upgrade(headers, code, message):
    server = Server()
    error = upgrade_dial_error(Location("h", "80"), server.request("POST", "/x", headers=headers))
    await server.__aexit__()
    assert (error.code, error.message) == (code, message)
