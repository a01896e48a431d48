"""Creation and repair of default objects.

One list per collection, then all writes concurrently, so that they share commits of the store.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.controlplane.bootstrap.errors import BootstrapError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.server.loopback import Answer, Loopback


#: Maximum number of concurrent writes.
_WRITES_MAX: Final = 64


class DesiredObject(msgspec.Struct, frozen=True):
    """Desired object and how to repair it."""

    #: ``/api/v1/namespaces``; a query may follow.
    collection: str
    tree: dict[str, Any]
    #: (existing, desired) → object to store; None if the existing one is sufficient. An object without a
    #: resourceVersion replaces the existing one. None: any existing object is sufficient.
    repair: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any] | None] | None = None

    @property
    def path(self) -> str:
        """Path of the object."""
        collection, mark, query = self.collection.partition("?")
        return f"{collection}/{self.tree['metadata']['name']}{mark}{query}"


async def ensure(client: Loopback, objects: Sequence[DesiredObject]) -> None:
    """Create missing objects and repair others. Raises ``BootstrapError`` for the first rejected call."""
    existing_objects = {}
    for collection in dict.fromkeys(desired.collection for desired in objects):
        path = collection.partition("?")[0]
        answer = await client.request("GET", f"{path}?resourceVersion=0")
        if answer.code != 200:
            raise BootstrapError(f"cannot list {path}: {answer.body.decode(errors='replace')}")
        for item in answer.json().get("items") or ():
            existing_objects[collection, item["metadata"]["name"]] = item
    turns = asyncio.Semaphore(_WRITES_MAX)

    async def write(desired: DesiredObject, repaired: Tree | None) -> None:
        async with turns:
            if repaired is None:
                _check(desired, await _post(client, desired), (201, 409))
            else:
                await _repair(client, desired, repaired)

    try:
        async with asyncio.TaskGroup() as group:
            for desired in objects:
                existing, repaired = existing_objects.get((desired.collection, desired.tree["metadata"]["name"])), None
                if existing is not None:
                    repaired = None if desired.repair is None else desired.repair(existing, desired.tree)
                    if repaired is None:
                        continue
                group.create_task(write(desired, repaired), name=f"bootstrap {desired.path}")
    except* BootstrapError as refused:
        raise refused.exceptions[0] from None


async def _post(client: Loopback, desired: DesiredObject) -> Answer:
    return await client.request("POST", desired.collection, body=msgspec.json.encode(desired.tree))


async def _repair(client: Loopback, desired: DesiredObject, repaired: Tree) -> None:
    if "resourceVersion" in repaired["metadata"]:
        # a 409 means that another server does the same
        body = msgspec.json.encode({"kind": desired.tree["kind"], "apiVersion": desired.tree["apiVersion"], **repaired})
        _check(desired, await client.request("PUT", desired.path, body=body), (200, 409))
        return
    _check(desired, await client.request("DELETE", desired.path), (200, 404))
    _check(desired, await _post(client, desired), (201, 409))


def _check(desired: DesiredObject, answer: Answer, good: tuple[int, ...]) -> None:
    if answer.code not in good:
        raise BootstrapError(f"{desired.path}: {answer.body.decode(errors='replace')}")
