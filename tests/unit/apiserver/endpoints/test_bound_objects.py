"""Objects that tokens are bound to."""

import json

from steersman.apiserver.authn.service_account import BoundObject
from steersman.apiserver.endpoints.bound_objects import StoredObjects, _bound_object
from steersman.testing import InProcessAPIServer


async def test_get_returns_stored_objects():
    objects = StoredObjects()
    assert await objects.find("Secret", "s", namespace="default") is None
    async with InProcessAPIServer() as server:
        objects.follow(server.core.resources.registry)
        body = json.dumps({"metadata": {"name": "s"}}).encode()
        created = (await server.request("POST", "/api/v1/namespaces/default/secrets", body=body)).json()
        assert await objects.find("Secret", "s", namespace="default") == BoundObject(created["metadata"]["uid"])
        assert await objects.find("Secret", "t", namespace="default") is None
        assert (await objects.secret("default", "s"))["metadata"]["name"] == "s"


async def test_state_is_current_until_the_object_is_written_or_deleted():
    objects = StoredObjects()
    assert objects.state("Secret", "s", namespace="default") is None
    path = "/api/v1/namespaces/default/secrets"
    async with InProcessAPIServer() as server:
        objects.follow(server.core.resources.registry)
        body = json.dumps({"metadata": {"name": "s"}}).encode()
        created = (await server.request("POST", path, body=body)).json()
        result, first = objects.state("Secret", "s", namespace="default")
        assert (result, first.is_current()) == (BoundObject(created["metadata"]["uid"]), True)
        await server.request("PUT", f"{path}/s", body=json.dumps({**created, "stringData": {"k": "v"}}).encode())
        assert not first.is_current()
        _, second = objects.state("Secret", "s", namespace="default")
        assert second.is_current()
        await server.request("DELETE", f"{path}/s")
        assert not second.is_current()
        assert objects.state("Secret", "s", namespace="default") is None


def test_get_of_a_terminating_object_has_its_deletion_time():
    tree = {"metadata": {"uid": "u", "deletionTimestamp": "1970-01-01T00:01:00Z"}}
    assert _bound_object(tree) == BoundObject("u", 60.0)
