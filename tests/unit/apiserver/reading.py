"""In-memory resource and requests for tests of the read verbs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.unit.apiserver.lagging import LaggingStore

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.get import get
from steersman.apiserver.endpoints.list_ import list_
from steersman.apiserver.endpoints.watch import watch
from steersman.apiserver.generic.entry import Layout
from steersman.apiserver.generic.served import ServedResource
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.generic.watch_cache import WatchCache
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import RequestInfo
from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.schema.loader import struct_for
from steersman.schema.resources import Resource
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Delete, Put

if TYPE_CHECKING:
    from steersman.apiserver.generic.change_ring import ChangeRing

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class PodStrategy(Strategy):
    """Minimal strategy of Pods: a field label and a cell."""

    field_labels = {"spec.nodeName": lambda obj: (obj.get("spec") or {}).get("nodeName", "")}
    columns = (Column("Name", format="name"), Column("Node"))

    def cells(self, obj: Any, now: Any) -> list[Any]:
        return [obj["metadata"].get("name", ""), (obj.get("spec") or {}).get("nodeName", "<none>")]


PODS = Resource("", "v1", "pods", "Pod", "pod", True, ())
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", "configmap", True, ())


class World:
    """Resource with its store and a fake clock."""

    def __init__(self, resource: Resource = CONFIG_MAPS, *, ring: ChangeRing | None = None, **more: Any) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(clock=self.clock)
        self.layout = Layout(resource.kind, resource.api_version)
        self.prefix = f"/registry/{resource.name}/"
        self.tasks = Supervisor("test")
        remote = more.pop("remote", False)
        #: What the cache reads: with ``remote``, writes past it come late.
        self.view: Any = LaggingStore(self.store) if remote else self.store
        self.cache = WatchCache(
            self.view, self.prefix, layout=self.layout, clock=self.clock, tasks=self.tasks, ring=ring, remote=remote
        )
        strategy = PodStrategy() if resource is PODS else Strategy()
        struct = None if more.get("is_custom") else struct_for("", "v1", resource.kind)
        self.served = ServedResource(
            resource,
            storage=None,
            cache=self.cache,
            strategy=strategy,
            struct=struct,
            **{"random": lambda: 0.5, **more},
        )

    async def put(self, name: str, namespace: str = "ns", *, labels: dict[str, str] | None = None, **rest: Any) -> int:
        metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
        if labels is not None:
            metadata["labels"] = labels
        return await self.write(f"{self.prefix}{namespace}/{name}", {"metadata": metadata, **rest})

    async def write(self, key: str, tree: dict[str, Any]) -> int:
        return await self.store.txn([Put(key, self.layout.encode(tree))])

    async def delete(self, name: str, namespace: str = "ns") -> int:
        return await self.store.txn([Delete(f"{self.prefix}{namespace}/{name}")])

    async def get(self, name: str, *, namespace: str = "ns", accept: str = "", **query: str) -> Response:
        return await get(self.served, request(query, namespace=namespace, name=name, accept=accept))

    async def list(
        self, namespace: str = "ns", *, accept: str = "", headers: dict[str, str] | None = None, **query: str
    ) -> Response:
        return await list_(self.served, request(query, namespace=namespace, accept=accept, headers=headers))

    async def items(self, namespace: str = "ns", **query: str) -> Any:
        return await tree_of(await self.list(namespace, **query))

    async def names(self, namespace: str = "ns", **query: str) -> list[str]:
        return [item["metadata"]["name"] for item in (await self.items(namespace, **query))["items"]]

    async def watch(self, namespace: str = "ns", *, name: str = "", accept: str = "", **query: str) -> Watch:
        return Watch(self, await self.stream(namespace, name=name, accept=accept, **query))

    async def stream(self, namespace: str = "ns", *, name: str = "", accept: str = "", **query: str) -> Any:
        """Return a watch response whose stream is not read."""
        http_request = request(query, namespace=namespace, name=name, accept=accept, verb="watch")
        return (await watch(self.served, http_request)).stream


class Watch:
    """Client that reads a watch."""

    def __init__(self, world: World, stream: Any) -> None:
        self.world = world
        self.stream = stream
        self.events: list[dict[str, Any]] = []
        self.over = False
        self._task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        async for piece in self.stream:
            self.events += [json.loads(line) for line in piece.splitlines()]
        self.over = True

    async def seen(self, *, after_seconds: float = 1) -> list[dict[str, Any]]:
        """Return the events since the last call, after ``after_seconds`` have passed."""
        await self.world.clock.advance(after_seconds)
        events, self.events = self.events, []
        return events

    async def event_keys(self, *, after_seconds: float = 1) -> list[tuple[str, str, str]]:
        """Return ``seen`` as tuples of type, name and version."""
        return [
            (event["type"], event["object"]["metadata"].get("name", ""), event["object"]["metadata"]["resourceVersion"])
            for event in await self.seen(after_seconds=after_seconds)
        ]

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        await self.stream.aclose()


def request(
    query: dict[str, str],
    *,
    namespace: str = "",
    name: str = "",
    accept: str = "",
    verb: str = "list",
    headers: dict[str, str] | None = None,
) -> Request:
    """Return a GET request with the attributes that filters set."""

    async def receive() -> Any:
        await asyncio.Event().wait()

    fields = {**(headers or {}), **({"accept": accept} if accept else {})}
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": urlencode(query).encode(),
        "headers": [(key.encode(), value.encode()) for key, value in fields.items()],
    }
    new_request = Request(scope, receive)
    new_request.audit_id = "test"
    new_request.info = RequestInfo(verb, "/", is_resource=True, version="v1", namespace=namespace, name=name)
    return new_request


async def body_of(response: Response) -> bytes:
    """Return the whole body, streamed or not."""
    if response.stream is None:
        return response.body
    return b"".join([piece async for piece in response.stream])


async def tree_of(response: Response) -> Any:
    """Return the body as a tree."""
    return json.loads(await body_of(response))


async def refusal(answer: Any) -> dict[str, Any]:
    """Return the Status of a request that must be rejected."""
    try:
        await answer
    except StatusError as error:
        return error.status
    raise AssertionError("the request was not refused")
