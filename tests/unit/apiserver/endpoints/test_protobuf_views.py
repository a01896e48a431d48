"""Objects, lists and events of a resource in protobuf."""

from tests.unit.apiserver.reading import World, body_of

from steersman.apiserver.endpoints.negotiation import Form, Media, Shape
from steersman.apiserver.endpoints.protobuf_views import ProtobufView
from steersman.schema import protobuf

PROTOBUF = protobuf.MEDIA_TYPE


async def stored(world):
    await world.put("a", data={"k": "v"})
    await world.cache.ready()
    return world.cache.snapshot()[0]


async def test_object_has_the_envelope_of_the_kind():
    world = World()
    entry = await stored(world)
    tree = protobuf.decode_body(ProtobufView(world.served, Form(Media.PROTOBUF)).whole(entry))
    assert (tree["kind"], tree["apiVersion"], tree["data"]) == ("ConfigMap", "v1", {"k": "v"})


async def test_entry_is_encoded_once_per_form():
    world = World()
    entry = await stored(world)
    view = ProtobufView(world.served, Form(Media.PROTOBUF))
    assert view.item(entry) is ProtobufView(world.served, Form(Media.PROTOBUF)).item(entry)
    metadata = ProtobufView(world.served, Form(Media.PROTOBUF, Shape.METADATA))
    assert metadata.item(entry) != view.item(entry)
    assert "data" not in protobuf.decode_body(metadata.whole(entry))


async def test_lists_join_items():
    world = World()
    for number in range(300):
        await world.put(f"c{number:03}", data={"k": "x" * 1000})
    response = await world.list(accept=PROTOBUF)
    body = await body_of(response)
    assert (b"content-length", b"%d" % len(body)) in response.headers
    tree = protobuf.decode_body(body)
    assert tree["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in tree["items"]] == [f"c{number:03}" for number in range(300)]


async def test_metadata_lists_of_both_versions():
    world = World()
    await world.put("a")
    for version in ("v1", "v1beta1"):
        accept = f"{PROTOBUF};as=PartialObjectMetadataList;v={version};g=meta.k8s.io"
        tree = protobuf.decode_body(await body_of(await world.list(accept=accept)))
        assert tree["apiVersion"] == f"meta.k8s.io/{version}"
        assert [item["metadata"]["name"] for item in tree["items"]] == ["a"]


async def test_empty_list_is_a_list():
    world = World()
    accept = f"{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    assert protobuf.decode_body(await body_of(await world.list(accept=accept)))["kind"] == "PartialObjectMetadataList"
