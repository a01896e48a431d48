"""The client to the API server in this process."""

import asyncio

import pytest
from lightkube.models.core_v1 import ConfigMap, Namespace
from lightkube.models.meta_v1 import ObjectMeta

from steersman.apiserver.server.loopback import Loopback
from steersman.client import Client, PatchType, metadata_only
from steersman.client.errors import AlreadyExists, BadRequest, Conflict, Invalid, NotFound
from steersman.client.transport import Request, TransportError
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.testing import InProcessAPIServer


@pytest.fixture
async def client():
    async with InProcessAPIServer() as server, Client(LoopbackTransport(server.core.client)) as client:
        yield client


def config_map(name="a", **data):
    return ConfigMap(metadata=ObjectMeta(name=name), data=data)


async def test_loopback_client_of_every_verb(client):
    created = await client.create(config_map(x="1"))
    created.data = {"x": "2"}
    updated = await client.update(created)
    assert (await client.get(ConfigMap, "a")).data == {"x": "2"}
    patched = await client.patch(
        ConfigMap, "a", [{"op": "add", "path": "/data/y", "value": "3"}], patch_type=PatchType.JSON
    )
    assert patched.data == {"x": "2", "y": "3"}
    applied = await client.apply(config_map(z="4"), field_manager="me")
    assert applied.data == {"x": "2", "y": "3", "z": "4"}
    assert [item.metadata.name for item in await client.list_all(ConfigMap, page_size=1)] == ["a"]
    assert updated.metadata.uid == (await client.get(metadata_only(ConfigMap), "a")).metadata.uid
    with pytest.raises(Conflict):
        await client.delete(ConfigMap, "a", uid="another")
    await client.delete_object(applied)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a")


async def test_refusals_are_errors(client):
    await client.create(config_map())
    with pytest.raises(AlreadyExists):
        await client.create(config_map())
    await client.apply(config_map(x="1"), field_manager="a")
    with pytest.raises(Conflict):
        await client.apply(config_map(x="2"), field_manager="b")
    with pytest.raises(Invalid):
        await client.create(Namespace(metadata=ObjectMeta(name="A B")))
    with pytest.raises(BadRequest):
        await client.list(ConfigMap, continue_token="x")


async def test_loopback_watch_streams_until_closed(client):
    created = await client.create(config_map())
    async with client.watch(ConfigMap, resource_version=created.metadata.resourceVersion) as events:
        await client.delete_object(created)
        event = await anext(aiter(events))
    assert (event.type, event.object.metadata.uid) == ("DELETED", created.metadata.uid)


async def test_cancelled_loopback_request_leaves_no_task():
    async def slow(scope, receive, send):
        await receive()
        await receive()  # the client hangs up

    before = asyncio.all_tasks()
    transport = LoopbackTransport(Loopback(slow))
    task = asyncio.ensure_future(transport.request(Request("GET", "/")))
    await asyncio.wait([task], timeout=0.01)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert asyncio.all_tasks() == before


async def test_loopback_without_response_is_a_broken_connection():
    async def silent(scope, receive, send):
        pass

    transport = LoopbackTransport(Loopback(silent))
    with pytest.raises(TransportError):
        await transport.request(Request("GET", "/"))
    with pytest.raises(TransportError):
        await transport.open(Request("GET", "/")).__aenter__()
    await transport.close()


async def test_loopback_response_has_headers_by_lower_case_name():
    async def warn(scope, receive, send):
        headers = [(b"Warning", b"one"), (b"content-type", b"text/plain"), (b"warning", b"two")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    response = await LoopbackTransport(Loopback(warn)).request(Request("GET", "/"))
    assert response.headers == {"warning": "one, two", "content-type": "text/plain"}
    assert "retry-after" not in response.headers
    assert len(response.headers) == 2
