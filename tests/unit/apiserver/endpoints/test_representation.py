"""Answers in their form: compression, YAML, protobuf, refusals."""

from __future__ import annotations

import gzip
import json

import pytest
from tests.unit.apiserver.reading import TABLE, World, body_of, request, tree_of

from steersman.apimachinery.errors import not_found
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.apiserver.endpoints.negotiation import PLAIN, Form, Media, Shape
from steersman.apiserver.endpoints.representation import render_object, render_status, render_tree

GZIP = {"accept-encoding": "gzip"}


async def large(objects: int, size: int) -> World:
    world = World()
    for number in range(objects):
        await world.put(f"c{number:03}", data={"k": "x" * size})
    return world


@pytest.mark.parametrize(("objects", "size"), [(2, 70_000), (30, 10_000)])
async def test_large_lists_are_compressed_when_accepted(objects, size):
    world = await large(objects, size)
    plain = await body_of(await world.list())
    response = await world.list(headers=GZIP)
    assert (b"content-encoding", b"gzip") in response.headers
    assert gzip.decompress(await body_of(response)) == plain


async def test_small_responses_are_not_compressed():
    world = await large(2, 100)
    response = await world.list(headers=GZIP)
    assert response.headers == [(b"content-type", b"application/json")]


@pytest.mark.parametrize("accept", ["application/yaml", TABLE])
async def test_other_forms_are_compressed(accept):
    world = await large(300, 1000)
    response = await world.list(accept=accept, includeObject="Object", headers=GZIP)
    assert (b"content-encoding", b"gzip") in response.headers
    assert b"c299" in gzip.decompress(await body_of(response))


async def test_large_object_is_compressed():
    world = await large(1, 200_000)
    entry = world.cache.get(f"{world.prefix}ns/c000") or (await world.cache.ready()) or world.cache.snapshot()[0]
    response = await render_object(world.served, request({}, headers=GZIP), entry, form=PLAIN, code=201)
    assert response.code == 201
    assert json.loads(gzip.decompress(response.body))["metadata"]["name"] == "c000"


async def test_large_object_takes_every_form():
    world = await large(1, 200_000)
    await world.cache.ready()
    entry = world.cache.snapshot()[0]
    table = Form(Media.JSON, Shape.TABLE, meta_version="meta.k8s.io/v1")
    response = await render_object(world.served, request({"includeObject": "Object"}), entry, form=table)
    row = json.loads(response.body)["rows"][0]
    assert row["object"] == json.loads((await render_object(world.served, request({}), entry, form=PLAIN)).body)
    response = await render_object(world.served, request({}), entry, form=Form(Media.YAML))
    assert decode_yaml(response.body).tree == row["object"]


async def test_computed_trees_take_every_form():
    world = World()
    tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "dry"}, "data": {"k": "v"}}
    plain = await render_object(world.served, request({}), tree, form=PLAIN)
    assert json.loads(plain.body) == tree
    metadata = await tree_of(await render_object(world.served, request({}), tree, form=Form(shape=Shape.METADATA)))
    assert metadata == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "dry"}}
    table = await tree_of(await render_object(world.served, request({}), tree, form=Form(shape=Shape.TABLE)))
    assert table["rows"][0]["cells"][0] == "dry"
    assert table["metadata"] == {}


async def test_yaml_has_the_same_content():
    world = await large(30, 10_000)
    plain = await tree_of(await world.list())
    response = await world.list(accept="application/yaml")
    assert (b"content-type", b"application/yaml") in response.headers
    assert decode_yaml(response.body).tree == plain


async def test_partial_metadata_in_protobuf():
    world = World()
    await world.put("a")
    await world.cache.ready()
    form = Form(Media.PROTOBUF, Shape.METADATA)
    response = await render_object(world.served, request({}), world.cache.snapshot()[0], form=form)
    assert response.body.startswith(b"k8s\0")
    assert response.headers == [(b"content-type", b"application/vnd.kubernetes.protobuf")]


async def test_trees_of_other_kinds_are_returned_whole():
    response = await render_tree(
        request({}), {"kind": "Status", "metadata": {}}, form=Form(shape=Shape.TABLE), code=200
    )
    assert json.loads(response.body) == {"kind": "Status", "metadata": {}}


@pytest.mark.parametrize(
    ("accept", "start"),
    [("", b'{"kind":"Status"'), ("text/html", b'{\n  "kind": "Status"'), ("application/yaml", b"apiVersion: v1\n")],
)
def test_error_status_takes_the_accepted_form(accept, start):
    response = render_status(request({}, accept=accept), not_found("pods", "a"))
    assert response.code == 404
    assert response.body.startswith(start)
