"""Verbs of the client."""

import json

import msgspec
import pytest
from lightkube.models.autoscaling_v1 import Scale, ScaleSpec
from lightkube.models.core_v1 import ConfigMap, Namespace
from lightkube.models.meta_v1 import ObjectMeta
from tests.unit.client.scripted import ScriptedTransport, Stream, answer, config_map, event, listing, refusal

from steersman.asynckit.clock import FakeClock
from steersman.client import Client, PatchType, RetryPolicy, custom, tree
from steersman.client.errors import Conflict, Expired, NotFound, RequestFailed, UnexpectedResponse
from steersman.client.partial_metadata import metadata_only
from steersman.client.transport import Request, TransportError

HERE = "/api/v1/namespaces/default/configmaps"
DEPLOYMENT = tree("apps/v1", "Deployment")


class Widget(msgspec.Struct):
    metadata: ObjectMeta
    size: int = 0


custom("example.com/v1", "Widget", plural="widgets", model=Widget)


@pytest.fixture
def transport():
    return ScriptedTransport()


@pytest.fixture
def client(transport):
    return Client(transport, clock=FakeClock())


def body_of(transport, index=-1):
    return json.loads(transport.requests[index].body)


async def test_get_decodes_the_class(client, transport):
    transport.add(answer(config_map("a", 5)))
    result = await client.get(ConfigMap, "a")
    assert (type(result), result.metadata.resourceVersion) == (ConfigMap, "5")
    assert transport.targets == [f"GET {HERE}/a"]


async def test_get_passes_the_resource_version(client, transport):
    transport.add(answer(config_map("a", 5)))
    await client.get(ConfigMap, "a", namespace="x", resource_version="0")
    assert transport.targets == ["GET /api/v1/namespaces/x/configmaps/a?resourceVersion=0"]


async def test_get_raises_the_error_of_the_status(client, transport):
    transport.add(refusal(404, "NotFound", 'configmaps "a" not found'))
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        await client.get(ConfigMap, "a")


async def test_list_defaults_to_all_namespaces(client, transport):
    transport.add(listing(version=9), listing(version=9))
    await client.list(ConfigMap, label_selector={"a": "b"})
    await client.list(ConfigMap, namespace="x", limit=5)
    assert transport.targets == [
        "GET /api/v1/configmaps?labelSelector=a%3Db",
        "GET /api/v1/namespaces/x/configmaps?limit=5",
    ]


async def test_pages_follow_continue_tokens(client, transport):
    transport.add(listing(config_map("a", 1), version=9, continue_token="t"), listing(config_map("b", 2), version=9))
    result = await client.list_all(ConfigMap, page_size=1, resource_version="5", resource_version_match="Exact")
    assert [item.metadata.name for item in result] == ["a", "b"]
    assert result.resource_version == "9"
    assert transport.targets == [
        "GET /api/v1/configmaps?resourceVersion=5&resourceVersionMatch=Exact&limit=1",
        "GET /api/v1/configmaps?limit=1&continue=t",
    ]


async def test_list_all_falls_back_to_a_full_list_when_a_token_expires(client, transport):
    transport.add(
        listing(config_map("a", 1), version=9, continue_token="t"),
        refusal(410, "Expired"),
        listing(config_map("b", 2), version=10),
    )
    result = await client.list_all(ConfigMap, page_size=1)
    assert ([item.metadata.name for item in result], result.resource_version) == (["b"], "10")


async def test_list_all_raises_expired_for_the_first_page(client, transport):
    transport.add(refusal(410, "Expired"))
    with pytest.raises(Expired):
        await client.list_all(ConfigMap)


async def test_watch_yields_events(client, transport):
    transport.add(Stream(event("ADDED", config_map("a", 5)), ends=True))
    async with client.watch(ConfigMap, namespace="default", resource_version="3") as watch:
        assert [e.object.metadata.name async for e in watch] == ["a"]
    assert transport.targets == [f"GET {HERE}?resourceVersion=3&watch=true&allowWatchBookmarks=true"]


async def test_create_uses_the_namespace_of_argument_object_or_client(client, transport):
    transport.add(*[answer(config_map("a", 1))] * 3)
    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="own")), namespace="told")
    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="own")))
    await client.create(ConfigMap(metadata=ObjectMeta(name="a")), dry_run=True, field_validation="Strict")
    assert transport.targets == [
        "POST /api/v1/namespaces/told/configmaps",
        "POST /api/v1/namespaces/own/configmaps",
        f"POST {HERE}?dryRun=All&fieldValidation=Strict",
    ]


async def test_create_omits_the_namespace_of_cluster_scoped_objects(client, transport):
    transport.add(answer({"metadata": {"name": "n"}}))
    await client.create(Namespace(metadata=ObjectMeta(name="n")))
    assert transport.targets == ["POST /api/v1/namespaces"]


async def test_update_sends_put(client, transport):
    transport.add(answer(config_map("a", 6)), refusal(409, "Conflict"))
    obj = ConfigMap(metadata=ObjectMeta(name="a", resourceVersion="5"))
    assert (await client.update(obj)).metadata.resourceVersion == "6"
    with pytest.raises(Conflict):
        await client.update_status(obj, field_manager="me")
    assert transport.targets == [f"PUT {HERE}/a", f"PUT {HERE}/a/status?fieldManager=me"]


@pytest.mark.parametrize("patch_type", [PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC])
async def test_patch_sends_its_media_type(client, transport, patch_type):
    transport.add(answer(config_map("a", 6)))
    await client.patch(ConfigMap, "a", {"data": None}, patch_type=patch_type)
    assert transport.requests[0].headers["content-type"] == patch_type.value
    assert (transport.requests[0].method, transport.requests[0].body) == ("PATCH", b'{"data":null}')


async def test_apply_sends_field_manager_and_kind(client, transport):
    transport.add(answer({"metadata": {"name": "w"}, "size": 2}))
    applied = await client.apply(Widget(ObjectMeta(name="w"), 2), field_manager="me", force=True)
    assert applied.size == 2
    assert transport.targets == ["PATCH /apis/example.com/v1/namespaces/default/widgets/w?fieldManager=me&force=true"]
    assert transport.requests[0].headers["content-type"] == "application/apply-patch+yaml"
    assert body_of(transport) == {
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 2,
    }  # fmt: skip


async def test_tree_requires_api_version_and_kind(client, transport):
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "x"}}
    transport.add(answer(deployment))
    assert await client.create(deployment) == deployment
    assert transport.targets == ["POST /apis/apps/v1/namespaces/x/deployments"]
    with pytest.raises(ValueError, match="must say its apiVersion and kind"):
        await client.create({"metadata": {"name": "d"}})


async def test_tree_of_an_unknown_kind_is_discovered(client, transport):
    resources = [{"name": "things", "kind": "Thing", "namespaced": False, "verbs": []}]
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    transport.add(answer({"resources": resources}), answer(thing))
    await client.create(thing)
    assert transport.targets == ["GET /apis/example.com/v1", "POST /apis/example.com/v1/things"]


async def test_delete_sends_preconditions(client, transport):
    transport.add(answer({"kind": "Status", "status": "Success"}), answer({"kind": "Status", "status": "Success"}))
    assert (await client.delete(ConfigMap, "a", uid="u"))["status"] == "Success"
    await client.delete_object(ConfigMap(metadata=ObjectMeta(name="a", namespace="x")))
    assert body_of(transport, 0)["preconditions"] == {"uid": "u"}
    assert transport.targets == [f"DELETE {HERE}/a", "DELETE /api/v1/namespaces/x/configmaps/a"]


async def test_delete_collection_sends_selectors(client, transport):
    transport.add(answer({"kind": "ConfigMapList"}))
    await client.delete_collection(
        ConfigMap, namespace="default", label_selector="a=b", propagation_policy="Background"
    )
    assert transport.targets == [f"DELETE {HERE}?labelSelector=a%3Db"]
    assert body_of(transport)["propagationPolicy"] == "Background"


async def test_subresources_are_read_created_and_updated(client, transport):
    scale = {"metadata": {"name": "d"}, "spec": {"replicas": 3}}
    transport.add(answer(scale), answer(scale), answer(scale), answer({"kind": "Status"}))
    assert (await client.get_subresource(DEPLOYMENT, "d", "scale"))["spec"] == {"replicas": 3}
    typed = await client.get_subresource(DEPLOYMENT, "d", "scale", model=Scale)
    assert typed.spec.replicas == 3
    assert isinstance(
        await client.update_subresource(DEPLOYMENT, "d", "scale", Scale(spec=ScaleSpec(replicas=1))), Scale
    )
    await client.create_subresource(tree("v1", "Pod"), "p", "eviction", {"metadata": {"name": "p"}})
    assert transport.targets[2:] == [
        "PUT /apis/apps/v1/namespaces/default/deployments/d/scale",
        "POST /api/v1/namespaces/default/pods/p/eviction",
    ]


async def test_get_of_metadata_only(client, transport):
    transport.add(answer(config_map("a", 5)), listing(config_map("a", 5), version=9))
    obj = await client.get(metadata_only(ConfigMap), "a")
    assert (obj.kind, obj.metadata.name) == ("PartialObjectMetadata", "a")
    assert len(await client.list(metadata_only(ConfigMap))) == 1
    kinds = [request.headers["accept"].partition(";g=")[0] for request in transport.requests]
    assert kinds == ["application/json;as=PartialObjectMetadata", "application/json;as=PartialObjectMetadataList"]


async def test_raw_sends_any_request(client, transport):
    transport.add(answer({"major": "1"}), refusal(403, "Forbidden"))
    assert json.loads((await client.raw(Request("GET", "/version"))).body) == {"major": "1"}
    with pytest.raises(Exception, match="refused"):
        await client.raw(Request("GET", "/version"))


async def test_get_raises_unexpected_response_for_another_kind(client, transport):
    transport.add(answer(body=b"<html>"), answer([]))
    with pytest.raises(UnexpectedResponse):
        await client.get(ConfigMap, "a")
    with pytest.raises(UnexpectedResponse):
        await client.delete(ConfigMap, "a")


async def test_leaving_the_client_closes_the_transport(transport):
    async with Client(transport, clock=FakeClock()):
        pass
    assert transport.closed


async def test_with_options_bounds_the_calls_of_one_client_and_shares_the_transport(client, transport):
    refused = TransportError("refused", before_sending=True)
    once = client.with_options(deadline_seconds=1, retry=RetryPolicy(retries_max=0))
    transport.add(refused, answer(config_map("a", 1)))
    with pytest.raises(RequestFailed, match="refused"):
        await once.get(ConfigMap, "a")
    assert (await client.get(ConfigMap, "a")).metadata.name == "a"
    assert (once.clock, once.default_namespace) == (client.clock, client.default_namespace)
    await once.close()
    assert transport.closed
