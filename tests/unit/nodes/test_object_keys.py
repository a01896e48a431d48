"""Keys of Secrets and ConfigMaps that are watched as metadata only."""

from __future__ import annotations

from typing import Any, cast

from steersman.apimachinery.errors import forbidden, not_found
from steersman.apimachinery.trees import Tree
from steersman.client import Client
from steersman.client.errors import Forbidden, NotFound
from steersman.nodes.object_keys import UNKNOWN, ObjectKeyReader, ObjectKeys


class FakeClient:
    """Returns or raises ``response``, and counts the reads."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.reads = 0

    async def get(self, *_: Any, **__: Any) -> Any:
        self.reads += 1
        if isinstance(self.response, Exception):
            raise self.response
        return self.response


def observed(version: str) -> Tree:
    return {"metadata": {"name": "m", "namespace": "default", "resourceVersion": version}}


def reader_of(client: FakeClient) -> ObjectKeyReader:
    return ObjectKeyReader(cast("Client", client))


async def test_keys_are_read_once_for_each_version() -> None:
    client = FakeClient({**observed("2"), "data": {"a": "1"}, "binaryData": {"b": "AA=="}})
    reader = reader_of(client)
    keys = ObjectKeys(text=frozenset({"a"}), files=frozenset({"a", "b"}))
    assert await reader.keys("ConfigMap", observed("1")) == keys
    assert await reader.keys("ConfigMap", observed("2")) == keys
    assert client.reads == 1
    reader.forget("ConfigMap", "default/m")
    await reader.keys("ConfigMap", observed("2"))
    assert client.reads == 2


async def test_keys_of_a_deleted_object_are_none() -> None:
    error = not_found("configmaps", "m")
    assert await reader_of(FakeClient(NotFound(error.status))).keys("ConfigMap", observed("1")) is None


async def test_keys_are_unknown_when_objects_may_not_be_read() -> None:
    error = forbidden("secrets", "m", "no")
    assert await reader_of(FakeClient(Forbidden(error.status))).keys("Secret", observed("1")) is UNKNOWN
