"""Builds of documents, and requests during a build."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.openapi.cache import SWAGGER, DocumentCache
from steersman.apiserver.openapi.renderer import renderer_digest
from steersman.schema.resources import Resource, ResourceTable, Subresource, table

OWN = "apis/example.com/v1"


def gadgets(**changes: Any) -> Resource:
    resource = Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get", "list"))
    return msgspec.structs.replace(resource, **changes)


def small_table() -> ResourceTable:
    whole = table()
    groups = tuple(group for group in whole.groups if group.name in ("policy", "autoscaling"))
    return ResourceTable(groups, tuple(r for r in whole.resources if r.group in ("policy", "autoscaling")))


class CountingExecutor:
    """Executor that runs and counts builds."""

    def __init__(self) -> None:
        self.builds = 0

    def __call__(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        self.builds += function is not renderer_digest
        future = asyncio.get_running_loop().create_future()
        try:
            future.set_result(function())
        except ValueError as error:
            future.set_exception(error)
        return future


class HeldExecutor:
    """Executor that blocks each build until the test releases it; the renderer digest is computed at once."""

    def __init__(self) -> None:
        self.held: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []

    def __call__(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        if function is renderer_digest:
            future.set_result(function())
        else:
            self.held.append((function, future))
        return future

    def release(self) -> None:
        function, future = self.held.pop(0)
        future.set_result(function())


class LoadedSchema:
    """Schema of a custom resource."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.load = lambda: schema


class Server:
    """A catalog with schemas of custom resources, and the cache over it."""

    def __init__(self, executor: Any) -> None:
        self.catalog = Catalog(small_table())
        self.schemas: dict[tuple[str, str, str], LoadedSchema] = {}
        self.cache = DocumentCache(self.catalog, self.schema, executor=executor)

    def schema(self, resource: Resource) -> LoadedSchema | None:
        return self.schemas.get((resource.group, resource.version, resource.name))

    def serve(self, resource: Resource, schema: dict[str, Any]) -> None:
        self.schemas[resource.group, resource.version, resource.name] = LoadedSchema(schema)
        self.catalog.add(resource)

    async def all(self) -> dict[str, Any]:
        return {path: await self.cache.document(path) for path in [*self.cache.paths(), SWAGGER]}


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn


async def test_documents_are_built_once_while_nothing_changes():
    executor = CountingExecutor()
    server = Server(executor)
    first = await server.all()
    assert executor.builds == len(first)
    assert await server.all() == first
    assert executor.builds == len(first)


async def test_change_of_one_definition_rebuilds_its_group_version_and_swagger_only():
    executor = CountingExecutor()
    server = Server(executor)
    server.serve(gadgets(), {"type": "object"})
    before = await server.all()
    executor.builds = 0
    server.serve(gadgets(), {"type": "object", "description": "new"})
    after = await server.all()
    assert {path for path in after if after[path] is not before[path]} == {OWN, SWAGGER}
    assert executor.builds == 2


async def test_hashes_of_built_in_kinds_need_no_build():
    executor = CountingExecutor()
    server = Server(executor)
    server.serve(gadgets(), {"type": "object"})
    etags = {path: await server.cache.etag(path) for path in server.cache.paths()}
    assert executor.builds == 1
    documents = await server.all()
    assert etags == {path: document.etag for path, document in documents.items() if path != SWAGGER}


async def test_unknown_paths_have_neither_hash_nor_document():
    server = Server(CountingExecutor())
    assert await server.cache.etag("apis/none/v1") is None
    assert await server.cache.document("apis/none/v1") is None


async def test_protobuf_is_encoded_once_for_each_document():
    executor = CountingExecutor()
    server = Server(executor)
    document = await server.cache.document("apis/policy/v1")
    first = await server.cache.protobuf("apis/policy/v1", document)
    assert await server.cache.protobuf("apis/policy/v1", document) is first
    assert executor.builds == 2


async def test_documents_of_removed_group_versions_are_evicted():
    server = Server(CountingExecutor())
    server.serve(gadgets(), {"type": "object"})
    await server.cache.protobuf(OWN, await server.cache.document(OWN))
    server.catalog.remove(gadgets())
    assert await server.cache.document(OWN) is None
    assert OWN not in server.cache._documents
    assert OWN not in server.cache._protobuf


async def test_cached_documents_are_served_during_a_build():
    executor = HeldExecutor()
    server = Server(executor)
    build = asyncio.create_task(server.cache.document("api"))
    await turns()
    executor.release()
    await build
    waiting = asyncio.create_task(server.cache.document("apis"))
    await turns()
    assert await server.cache.document("api") is build.result()
    assert not waiting.done()
    executor.release()
    assert await waiting is not None


async def test_concurrent_requests_share_one_build():
    executor = HeldExecutor()
    server = Server(executor)
    requests = [asyncio.create_task(server.cache.document(SWAGGER)) for _ in range(3)]
    await turns()
    assert len(executor.held) == 1
    executor.release()
    first, *others = await asyncio.gather(*requests)
    assert all(other is first for other in others)
    assert not executor.held


async def test_one_build_runs_at_a_time():
    executor = HeldExecutor()
    server = Server(executor)
    requests = [asyncio.create_task(server.cache.document(path)) for path in ("api", "apis", "version")]
    for _ in requests:
        await turns()
        assert len(executor.held) == 1
        executor.release()
    assert None not in await asyncio.gather(*requests)


async def test_build_of_a_cancelled_request_is_kept():
    executor = HeldExecutor()
    server = Server(executor)
    request = asyncio.create_task(server.cache.document("api"))
    await turns()
    request.cancel()
    await turns()
    executor.release()
    assert await server.cache.document("api") is not None
    assert not executor.held


async def test_build_of_an_outdated_source_is_returned_but_not_kept():
    executor = HeldExecutor()
    server = Server(executor)
    server.serve(gadgets(), {"type": "object"})
    request = asyncio.create_task(server.cache.document(OWN))
    await turns()
    server.serve(gadgets(), {"type": "object", "description": "new"})
    executor.release()
    outdated = await request
    again = asyncio.create_task(server.cache.document(OWN))
    await turns()
    executor.release()
    assert (await again).etag != outdated.etag


async def test_failed_build_is_reported_and_tried_again_by_the_next_request(monkeypatch):
    server = Server(CountingExecutor())
    await server.cache.document("apis")

    def fail(_path: str) -> None:
        raise ValueError("cannot be built")

    monkeypatch.setattr(server.cache._builder, "discovery", fail)
    with pytest.raises(ValueError, match="cannot be built"):
        await server.cache.document("api")
    monkeypatch.undo()
    assert await server.cache.document("api") is not None


@pytest.mark.parametrize("count", [2, 20])
async def test_no_step_of_a_build_handles_more_than_one_schema(monkeypatch, count):
    """The interpreter lock is held for at most one call of the encoder or decoder, for any number of definitions."""
    server = Server(CountingExecutor())
    schema = {
        "type": "object",
        "properties": {f"f{i}": {"type": "string", "description": "x" * 90} for i in range(999)},
    }
    for number in range(count):
        server.serve(gadgets(name=f"things{number}", kind=f"Thing{number}"), {**schema, "title": str(number)})
    steps: list[int] = []
    encode, decode = msgspec.json.encode, msgspec.json.decode

    def measured_encode(value: Any) -> bytes:
        encoded = encode(value)
        steps.append(len(encoded))
        return encoded

    def measured_decode(text: bytes) -> Any:
        steps.append(len(text))
        return decode(text)

    monkeypatch.setattr(msgspec.json, "encode", measured_encode)
    monkeypatch.setattr(msgspec.json, "decode", measured_decode)
    for path in (OWN, SWAGGER):
        document = await server.cache.document(path)
        await server.cache.protobuf(path, document)
        assert document.size > count * len(encode(schema))
    assert max(steps) < 1.2 * len(encode(schema))


RESOURCES = st.builds(
    gadgets,
    group=st.sampled_from(["example.com", "policy", "a.example.com"]),
    version=st.sampled_from(["v1", "v1beta1"]),
    name=st.sampled_from(["gadgets", "widgets"]),
    short_names=st.sampled_from([(), ("g",)]),
    verbs=st.sampled_from([("get",), ("get", "list"), ("get", "list", "watch"), ("list", "get")]),
    namespaced=st.booleans(),
    subresources=st.sampled_from([(), (Subresource("scale", "Scale", ("get", "patch"), "autoscaling", "v1"),)]),
)
CHANGES = st.tuples(RESOURCES, st.sampled_from([None, "", "text"]))


async def changed(server: Server, change: tuple[Resource, str | None]) -> None:
    resource, description = change
    resource = msgspec.structs.replace(resource, kind=resource.name.capitalize())
    if description is None:
        server.catalog.remove(resource)
    else:
        server.serve(resource, {"type": "object", "description": description})


@given(st.lists(CHANGES, max_size=6))
@settings(max_examples=40, deadline=None)
async def test_hash_changes_exactly_when_the_content_does(changes):
    server = Server(CountingExecutor())
    before = await server.all()
    for change in changes:
        await changed(server, change)
        after = await server.all()
        own = {f"apis/{change[0].group}/{change[0].version}", f"apis/{change[0].group}", SWAGGER}
        for path in before.keys() & after.keys():
            old, new = before[path], after[path]
            assert (old.etag == new.etag) == (b"".join(old.json) == b"".join(new.json)), path
            assert path in own or new is old, path
        assert before.keys() ^ after.keys() <= own
        before = after


@given(st.lists(CHANGES, max_size=6))
@settings(max_examples=40, deadline=None)
async def test_hash_does_not_depend_on_the_order_of_earlier_changes(changes):
    server = Server(CountingExecutor())
    for change in changes:
        await changed(server, change)
    etags = {path: document.etag for path, document in (await server.all()).items()}
    restarted = Server(CountingExecutor())
    versions = [v for name in ("example.com", "a.example.com", "policy") for v in _versions(server.catalog, name)]
    for version in versions:
        for resource in reversed(version.resources.values()):
            if not resource.definition:
                restarted.serve(resource, server.schema(resource).load())
    assert {path: document.etag for path, document in (await restarted.all()).items()} == etags


def _versions(catalog: Catalog, name: str) -> list[Any]:
    group = catalog.group(name)
    return [] if group is None else group.versions
