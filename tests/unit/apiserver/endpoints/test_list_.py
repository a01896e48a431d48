"""LIST: which objects, in which version, page by page."""

from __future__ import annotations

import base64
import json
import threading

import pytest
from tests.unit.apiserver.reading import METADATA, METADATA_LIST, PODS, TABLE, World, body_of, refusal, tree_of

from steersman.apiserver.generic import entry as entry_module
from steersman.apiserver.generic import listing
from steersman.apiserver.generic.change_ring import ChangeRing
from steersman.apiserver.workers import LARGE_BYTES
from steersman.asynckit.clock import FakeClock
from steersman.testing import InProcessAPIServer

TOO_OLD = "The resourceVersion for the provided list is too old."


async def make(world: World, count: int, **rest: object) -> int:
    version = 0
    for number in range(count):
        version = await world.put(f"c{number}", **rest)
    return version


async def test_list_items_of_built_in_kinds_have_no_type_meta():
    world = World()
    await world.put("a", data={"k": "v"})
    tree = await world.items()
    assert tree["kind"] == "ConfigMapList"
    assert tree["apiVersion"] == "v1"
    assert tree["metadata"] == {"resourceVersion": "1"}
    metadata = {"resourceVersion": "1", "name": "a", "namespace": "ns", "uid": "uid-a"}
    assert tree["items"] == [{"metadata": metadata, "data": {"k": "v"}}]


async def test_list_items_of_custom_kinds_have_type_meta_and_the_list_has_continue():
    world = World(is_custom=True)
    await world.put("a")
    tree = await world.items()
    assert tree["metadata"] == {"resourceVersion": "1", "continue": ""}
    assert tree["items"][0]["kind"] == "ConfigMap"
    assert tree["items"][0]["apiVersion"] == "v1"


async def test_empty_list_has_a_resource_version():
    world = World()
    await world.put("a", "other")
    assert await world.items() == {
        "kind": "ConfigMapList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "1"},
        "items": [],
    }


async def test_list_of_a_namespace_excludes_namespaces_with_its_prefix():
    world = World()
    await world.put("a", "ns")
    await world.put("b", "ns2")
    await world.put("c", "n")
    assert await world.names("ns") == ["a"]
    assert await world.names("") == ["c", "a", "b"]


async def test_pages_return_all_objects_in_order():
    world = World()
    await make(world, 5)
    first = await world.items(limit="2")
    second = await world.items(limit="2", **{"continue": first["metadata"]["continue"]})
    last = await world.items(limit="2", **{"continue": second["metadata"]["continue"]})
    names = [[item["metadata"]["name"] for item in page["items"]] for page in (first, second, last)]
    assert names == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert first["metadata"]["remainingItemCount"] == 3
    assert second["metadata"]["remainingItemCount"] == 1
    assert last["metadata"] == {"resourceVersion": "5"}


async def test_pages_continue_in_the_next_namespace():
    world = World()
    for namespace in ("ns", "ns2"):
        await world.put("a", namespace)
        await world.put("b", namespace)
    first = await world.items("", limit="3")
    assert await world.names("", limit="3", **{"continue": first["metadata"]["continue"]}) == ["b"]


@pytest.mark.parametrize("limit", ["0", "-1", "5", "500"])
async def test_list_without_limit_or_with_a_large_one_returns_all(limit):
    world = World()
    await make(world, 5)
    tree = await world.items(limit=limit)
    assert len(tree["items"]) == 5
    assert tree["metadata"] == {"resourceVersion": "5"}


async def test_later_pages_are_at_the_resource_version_of_the_first():
    world = World()
    await make(world, 3, data={"k": "old"})
    first = await world.items(limit="1")
    await world.delete("c1")
    await world.put("c2", data={"k": "new"})
    await world.put("c3")
    rest = await world.items(**{"continue": first["metadata"]["continue"]})
    assert [(item["metadata"]["name"], item["data"]["k"]) for item in rest["items"]] == [("c1", "old"), ("c2", "old")]
    assert rest["metadata"] == {"resourceVersion": "3"}


async def test_page_older_than_the_change_ring_is_read_from_the_store():
    world = World(ring=ChangeRing(0, changes_max=2))
    await make(world, 3, data={"k": "old"})
    first = await world.items(limit="1")
    await make(world, 6, data={"k": "new"})
    rest = await world.items(**{"continue": first["metadata"]["continue"]})
    assert [(item["metadata"]["name"], item["data"]["k"]) for item in rest["items"]] == [("c1", "old"), ("c2", "old")]


async def test_page_at_a_compacted_version_is_410_with_an_inconsistent_continue_token():
    world = World(ring=ChangeRing(0, changes_max=1))
    await make(world, 3)
    first = await world.items(limit="1")
    await make(world, 4)
    await world.store.compact(6)
    status = await refusal(world.list(**{"continue": first["metadata"]["continue"]}))
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert "inconsistent list" in status["message"]
    rest = await world.items(**{"continue": status["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c1", "c2", "c3"]
    assert rest["metadata"] == {"resourceVersion": "7"}


async def test_continue_token_expires_with_compaction_without_writes_to_the_resource():
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        for name in ("a", "b"):
            body = json.dumps({"metadata": {"name": name}}).encode()
            await server.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
        first = (await server.request("GET", "/api/v1/namespaces/default/configmaps?limit=1")).json()
        rest = f"/api/v1/namespaces/default/configmaps?limit=1&continue={first['metadata']['continue']}"
        body = json.dumps({"metadata": {"name": "other"}}).encode()
        await server.request("POST", "/api/v1/namespaces/default/secrets", body=body)
        await clock.advance(290)
        assert (await server.request("GET", rest)).code == 200
        await clock.advance(40)
        expired = await server.request("GET", rest)
        assert (expired.code, expired.json()["reason"]) == (410, "Expired")
        again = f"/api/v1/namespaces/default/configmaps?limit=1&continue={expired.json()['metadata']['continue']}"
        page = (await server.request("GET", again)).json()
        assert [item["metadata"]["name"] for item in page["items"]] == ["b"]
        exact = f"resourceVersion={first['metadata']['resourceVersion']}&resourceVersionMatch=Exact"
        assert (await server.request("GET", f"/api/v1/namespaces/default/configmaps?{exact}")).code == 410


async def test_exact_match_returns_the_past_and_a_compacted_version_is_410():
    world = World(ring=ChangeRing(0, changes_max=1))
    version = await make(world, 2, data={"k": "old"})
    await world.put("c0", data={"k": "new"})
    await world.delete("c1")
    exact = {"resourceVersion": str(version), "resourceVersionMatch": "Exact"}
    tree = await world.items(**exact)
    assert [item["data"]["k"] for item in tree["items"]] == ["old", "old"]
    assert tree["metadata"] == {"resourceVersion": "2"}
    await world.store.compact(4)
    status = await refusal(world.list(**exact))
    assert (status["code"], status["message"]) == (410, TOO_OLD)


async def test_not_older_than_and_unset_match_return_the_current_state():
    world = World()
    await make(world, 2)
    await world.delete("c1")
    assert await world.names(resourceVersion="1", resourceVersionMatch="NotOlderThan") == ["c0"]
    assert await world.names(resourceVersion="1") == ["c0"]


async def test_unset_match_with_a_limit_is_exact():
    world = World()
    await make(world, 3)
    await world.delete("c0")
    tree = await world.items(resourceVersion="2", limit="1")
    assert [item["metadata"]["name"] for item in tree["items"]] == ["c0"]
    assert tree["metadata"]["resourceVersion"] == "2"


async def test_resource_version_zero_ignores_the_limit():
    world = World()
    await make(world, 3)
    first = await world.items(limit="1")
    assert len(await world.names(limit="1", resourceVersion="0")) == 3
    token = first["metadata"]["continue"]
    assert await world.names(limit="1", resourceVersion="0", **{"continue": token}) == ["c1", "c2"]


async def test_future_resource_version_is_504_after_a_timeout():
    world = World()
    await make(world, 1)
    answer = world.list(resourceVersion="7")
    failing = world.tasks.start("list", refusal(answer))
    await world.clock.advance(3.1)
    status = await failing
    assert status["code"] == 504
    assert status["message"] == "Timeout: Too large resource version: 7, current: 1"
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_list_waits_for_a_future_resource_version():
    world = World()
    await make(world, 1)
    listing = world.tasks.start("list", world.names(resourceVersion="2"))
    await world.clock.advance(1)
    await world.put("c9")
    await world.clock.advance(0)
    assert await listing == ["c0", "c9"]


async def test_list_with_a_selector_has_no_remaining_item_count():
    world = World()
    for number in range(4):
        await world.put(f"c{number}", labels={"app": "x" if number % 2 else "y"})
    tree = await world.items(labelSelector="app=x", limit="1")
    assert [item["metadata"]["name"] for item in tree["items"]] == ["c1"]
    assert tree["metadata"].keys() == {"resourceVersion", "continue"}
    token = tree["metadata"]["continue"]
    rest = await world.items(labelSelector="app=x", limit="1", **{"continue": token})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c3"]
    assert rest["metadata"].keys() == {"resourceVersion"}


async def test_page_before_objects_that_do_not_match_has_a_continue_token():
    world = World()
    await world.put("a", labels={"app": "x"})
    await world.put("b")
    tree = await world.items(labelSelector="app=x", limit="1")
    assert "continue" in tree["metadata"]


async def test_field_selector_of_a_name_reads_one_key():
    world = World()
    await make(world, 3)
    assert await world.names(fieldSelector="metadata.name=c1") == ["c1"]
    assert await world.names(fieldSelector="metadata.name=c1,metadata.name=c2") == []
    assert await world.names(fieldSelector="metadata.name!=c1") == ["c0", "c2"]
    assert await world.names(fieldSelector="metadata.name=zz") == []


async def test_field_selector_of_a_namespace_in_a_list_of_all_namespaces():
    world = World()
    await world.put("a", "ns")
    await world.put("b", "ns2")
    assert await world.names("", fieldSelector="metadata.namespace=ns2") == ["b"]
    assert await world.names("", fieldSelector="metadata.namespace!=ns2") == ["a"]
    assert await world.names("ns", fieldSelector="metadata.namespace=ns2") == []
    assert await world.names("", fieldSelector="metadata.namespace=ns,metadata.name=a") == ["a"]


async def test_pages_of_a_selected_namespace_return_all_objects():
    world = World()
    await world.put("a", "ns")
    for name in ("a", "b", "c"):
        await world.put(name, "ns2")
    query = {"fieldSelector": "metadata.namespace=ns2", "limit": "2"}
    first = await world.items("", **query)
    assert await world.names("", **query, **{"continue": first["metadata"]["continue"]}) == ["c"]


async def test_field_selectors_of_kinds():
    world = World(PODS)
    await world.put("a", spec={"nodeName": "n"})
    await world.put("b", spec={})
    assert await world.names(fieldSelector="spec.nodeName=n") == ["a"]
    assert await world.names(fieldSelector="spec.nodeName=") == ["b"]
    status = await refusal(world.list(fieldSelector="spec.priority=1"))
    assert status["message"] == "field label not supported: spec.priority"


@pytest.mark.interpreted
async def test_field_selectors_decode_large_objects_in_workers(monkeypatch):
    threads = {}
    read = entry_module._fields_of

    def recorded(raw, values):
        threads[len(raw)] = threading.get_ident()
        return read(raw, values)

    monkeypatch.setattr(entry_module, "_fields_of", recorded)
    world = World(PODS)
    await world.put("a", spec={"nodeName": "n"}, annotations={"x": "x" * LARGE_BYTES})
    await world.put("b", spec={"nodeName": "n"})
    await world.put("c", spec={"nodeName": "m"})
    assert await world.names(fieldSelector="spec.nodeName=n") == ["a", "b"]
    small, large = threads[min(threads)], threads[max(threads)]
    assert small == threading.get_ident() != large


async def test_field_selectors_decode_many_objects_in_steps(monkeypatch):
    monkeypatch.setattr(listing, "_STEP_BYTES", 1)
    world = World(PODS)
    for number in range(5):
        await world.put(f"p{number}", spec={"nodeName": "n" if number % 2 else "m"})
    assert await world.names(fieldSelector="spec.nodeName=n") == ["p1", "p3"]
    assert await world.names(fieldSelector="spec.nodeName=m", limit="2") == ["p0", "p2"]


async def test_field_labels_differ_between_versions():
    world = World(PODS, field_labels={"where": "spec.nodeName"})
    await world.put("a", spec={"nodeName": "n"})
    await world.put("b", spec={"nodeName": "m"})
    assert await world.names(fieldSelector="where=n") == ["a"]
    assert (await refusal(world.list(fieldSelector="spec.nodeName=n")))["code"] == 400


async def test_shard_selectors_partition_a_collection():
    world = World()
    await make(world, 20)
    middle, end = "0x8000000000000000", "0x10000000000000000"
    low = f"shardRange(object.metadata.uid, '0x0', '{middle}')"
    high = f"shardRange(object.metadata.uid, '{middle}', '{end}')"
    tree = await world.items(shardSelector=low)
    lower = {item["metadata"]["name"] for item in tree["items"]}
    upper = set(await world.names(shardSelector=high))
    assert tree["metadata"]["shardInfo"] == {"selector": low}
    assert lower
    assert upper
    assert lower.isdisjoint(upper)
    assert len(lower | upper) == 20
    assert len(await world.names(shardSelector=f"{low} || {high}")) == 20


def token_of(**fields: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": ""}, 'strconv.ParseInt: parsing "": invalid syntax'),
        ({"limit": "1.5"}, 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ({"limit": "9" * 30}, f'strconv.ParseInt: parsing "{"9" * 30}": value out of range'),
        ({"timeoutSeconds": "five"}, 'strconv.ParseInt: parsing "five": invalid syntax'),
        (
            {"resourceVersion": "abc"},
            (
                'invalid resource version: resourceVersion: Invalid value: "abc": '
                'strconv.ParseUint: parsing "abc": invalid syntax'
            ),
        ),
        (
            {"fieldSelector": "data.k=v"},
            '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ({"labelSelector": "=="}, "found '==', expected: !, identifier, or 'end of string'"),
        (
            {"continue": "!!"},
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
        ),
        (
            {"continue": token_of(v="meta.k8s.io/v1", rv=3, start="c0\0"), "resourceVersion": "1"},
            "specifying resource version is not allowed when using continue",
        ),
        (
            {"continue": token_of(v="meta.k8s.io/v1", start="a")},
            (
                "invalid continue token: continue key is not valid: "
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
            ),
        ),
        (
            {"continue": token_of(v="meta.k8s.io/v1", rv=1, start="../../secrets/a")},
            "invalid continue token: continue key is not valid: ../../secrets/a",
        ),
        (
            {"continue": token_of(v="v2", rv=1, start="a")},
            'invalid continue token: continue key is not valid: server does not recognize this encoded version "v2"',
        ),
    ],
)
async def test_invalid_list_parameters_are_400(query, message):
    world = World()
    await make(world, 1)
    status = await refusal(world.list(**query))
    assert (status["code"], status["message"]) == (400, message)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"resourceVersionMatch": "Exact"}, "FieldValueForbidden"),
        ({"resourceVersionMatch": "NotOlderThan"}, "FieldValueForbidden"),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, "FieldValueForbidden"),
        ({"resourceVersionMatch": "Newer", "resourceVersion": "1"}, "FieldValueNotSupported"),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "1", "continue": "x"}, "FieldValueForbidden"),
        ({"sendInitialEvents": "true"}, "FieldValueForbidden"),
    ],
)
async def test_conflicting_list_parameters_are_422(query, reason):
    status = await refusal(World().list(**query))
    assert status["code"] == 422
    assert status["details"]["causes"][0]["reason"] == reason


async def test_list_as_a_table():
    world = World(PODS)
    await world.put("a", spec={"nodeName": "n"})
    await world.put("b", spec={})
    table = await world.items(accept=TABLE, limit="1")
    assert table["kind"] == "Table"
    assert table["apiVersion"] == "meta.k8s.io/v1"
    assert table["metadata"]["remainingItemCount"] == 1
    assert table["columnDefinitions"][0] == {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": "",
        "priority": 0,
    }
    (row,) = table["rows"]
    assert row["cells"] == ["a", "n"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "a"


async def test_include_object_sets_the_object_of_table_rows():
    world = World(PODS)
    await world.put("a", spec={"nodeName": "n"})
    whole = await world.items(accept=TABLE, includeObject="Object")
    assert whole["rows"][0]["object"]["spec"] == {"nodeName": "n"}
    assert whole["rows"][0]["object"]["kind"] == "Pod"
    none = await world.items(accept=TABLE, includeObject="None")
    assert none["rows"][0]["object"] is None
    status = await refusal(world.list(accept=TABLE, includeObject="All"))
    assert status["code"] == 400
    assert status["message"].startswith("Unable to convert to Table as requested: includeObject: Invalid value")


async def test_list_as_partial_metadata():
    world = World()
    assert (await world.items(accept=METADATA_LIST))["items"] is None
    await world.put("a", data={"k": "v"})
    tree = await world.items(accept=METADATA_LIST)
    assert tree["kind"] == "PartialObjectMetadataList"
    assert tree["items"][0].keys() == {"kind", "apiVersion", "metadata"}
    assert (await refusal(world.list(accept=METADATA)))["code"] == 406


async def test_list_in_another_version_converts_items():
    world = World(from_storage=lambda tree: {**tree, "data": {"converted": "yes"}})
    await world.put("a", data={"k": "v"})
    (item,) = (await world.items())["items"]
    assert item.keys() == {"metadata", "data"}
    assert item["data"] == {"converted": "yes"}


async def test_long_list_is_streamed_with_its_length():
    world = World()
    for number in range(40):
        await world.put(f"c{number:02}", data={"k": "x" * 10_000})
    response = await world.list()
    assert response.stream is not None
    length = dict(response.headers)[b"content-length"]
    body = await body_of(response)
    assert len(body) == int(length)
    assert [item["metadata"]["name"] for item in json.loads(body)["items"]] == [f"c{n:02}" for n in range(40)]


@pytest.mark.parametrize("accept", ["application/json;pretty=1", TABLE, "application/yaml", METADATA_LIST])
async def test_long_list_is_equal_in_every_form(accept):
    world = World(PODS)
    for number in range(250):
        await world.put(f"c{number:03}", spec={"nodeName": "n" * 1000})
    response = await world.list(accept=accept)
    body = await body_of(response)
    assert body.count(b"uid-c") == 250


async def test_streamed_pretty_list_equals_a_whole_one():
    world = World()
    for number in range(40):
        await world.put(f"c{number:02}", data={"k": "x" * 10_000})
    body = await body_of(await world.list(pretty="true"))
    plain = await tree_of(await world.list())
    assert body.decode() == json.dumps(plain, indent=2)
