"""Watches of a converted version: conversion ahead of the read, selectors, failures of the converter."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.crd.converting import MERGE, V1, V2, converted_screens, request, screen

from steersman.apimachinery import cbor

SMALL = {"size": "1x2"}


class Events:
    """Events of a watch, one at a time."""

    def __init__(self, chunks):
        self._chunks = aiter(chunks)
        self._lines = []

    async def next(self):
        async with asyncio.timeout(HANG_SECONDS):
            while not self._lines:
                self._lines = (await anext(self._chunks)).splitlines()
        event = json.loads(self._lines.pop(0))
        return event["type"], event["object"]


@asynccontextmanager
async def watching(converting_server, query=""):
    async with converting_server.open("GET", f"{V2}?watch=1&{query}") as chunks:
        yield Events(chunks)


async def test_watch_converts_the_initial_state_and_later_changes(converting_server, converter):
    for name in "ab":
        await request(converting_server, "POST", V1, screen(name, SMALL))
    async with watching(converting_server) as events:
        initial = [await events.next() for _ in range(2)]
        assert [(kind, tree["spec"]) for kind, tree in initial] == [("ADDED", {"width": 1, "height": 2})] * 2
        assert converter.calls == [["a", "b"]]
        await request(converting_server, "PATCH", f"{V1}/a", {"spec": {"size": "3x4"}}, **MERGE)
        kind, tree = await events.next()
        assert (kind, tree["apiVersion"], tree["spec"]) == ("MODIFIED", "example.com/v2", {"width": 3, "height": 4})
        deleted = await request(converting_server, "DELETE", f"{V1}/a")
        kind, tree = await events.next()
        assert (kind, tree["spec"]["width"], deleted["status"]) == ("DELETED", 3, "Success")


@pytest.mark.parametrize("form", ["", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"])
async def test_converted_objects_are_watched_in_cbor(converter, form):
    async with converted_screens(converter, gates={"CBORServingAndStorage": True}) as server:
        await request(server, "POST", V1, screen("a", SMALL))
        async with server.open("GET", f"{V2}?watch=1", headers={"accept": f"application/cbor{form}"}) as chunks:
            event = cbor.decode(await anext(aiter(chunks)))
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert event["object"].get("spec", {"width": 1})["width"] == 1


async def test_metadata_of_converted_objects_is_watched_in_protobuf(converting_server):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    accept = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    async with converting_server.open("GET", f"{V2}?watch=1", headers={"accept": accept}) as chunks:
        frame = await anext(aiter(chunks))
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4


async def test_watches_of_one_version_share_conversions(converting_server, converter):
    async with watching(converting_server) as first, watching(converting_server) as second:
        await request(converting_server, "POST", V1, screen("a", SMALL))
        assert await first.next() == await second.next()
    assert converter.calls == [["a"]]


async def test_selectors_of_a_watch_see_the_version_served(converting_server):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    async with watching(converting_server, "fieldSelector=spec.width=3") as events:
        await request(converting_server, "PATCH", f"{V1}/a", {"spec": {"size": "3x4"}}, **MERGE)
        assert (await events.next())[0] == "ADDED"
        await request(converting_server, "PATCH", f"{V1}/a", {"spec": {"size": "5x4"}}, **MERGE)
        kind, tree = await events.next()
        assert (kind, tree["spec"]["width"]) == ("DELETED", 3)


async def test_watch_continues_when_the_converter_recovers(converting_server, converter):
    async with watching(converting_server) as events:
        converter.is_down = True
        await request(converting_server, "POST", V1, screen("a", SMALL))
        await request(converting_server, "POST", V1, screen("b", SMALL))
        waiting = asyncio.ensure_future(events.next())
        while len(converter.calls) < 2:  # noqa: ASYNC110 — failed calls
            await asyncio.sleep(0.01)  # noqa: TID251 — the server runs on the real clock
        assert not waiting.done()
        converter.is_down = False
        seen = [await waiting, await events.next()]
        assert [(kind, tree["metadata"]["name"]) for kind, tree in seen] == [("ADDED", "a"), ("ADDED", "b")]


async def test_initial_state_that_cannot_be_converted_is_an_error_event(converting_server, converter):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    converter.is_down = True
    async with watching(converting_server) as events:
        kind, status = await events.next()
    assert (kind, status["code"]) == ("ERROR", 500)
    assert status["message"].startswith("conversion webhook for example.com/v1, Kind=Screen failed: ")


async def test_watch_from_a_version_converts_what_followed(converting_server):
    response = await request(converting_server, "POST", V1, screen("a", SMALL))
    await request(converting_server, "POST", V1, screen("b", SMALL))
    async with watching(converting_server, f"resourceVersion={response['metadata']['resourceVersion']}") as events:
        kind, tree = await events.next()
        assert (kind, tree["metadata"]["name"], tree["spec"]["width"]) == ("ADDED", "b", 1)


async def test_partial_metadata_is_converted(converting_server):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    accept = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    async with converting_server.open("GET", f"{V2}?watch=1", headers=accept) as chunks:
        kind, tree = await Events(chunks).next()
    assert (kind, tree["kind"], tree["metadata"]["name"]) == ("ADDED", "PartialObjectMetadata", "a")
