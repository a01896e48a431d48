"""Conversions that wait: sharing among watches, and repetition of synchronous steps."""

import asyncio

import pytest

from steersman.apimachinery.errors import StatusError, plain_error
from steersman.apimachinery.managedfields.schema import UnknownVersionError
from steersman.apimachinery.typemodel import Struct
from steersman.apiserver.generic.conversion import PendingConversionError, PendingVersions, SharedConversions
from steersman.apiserver.generic.entry import Layout

LAYOUT = Layout("Screen", "example.com/v1")


class Renaming:
    """Converter that counts its calls, and fails while it is down."""

    def __init__(self):
        self.calls = []
        self.is_down = False

    async def entries(self, entries):
        self.calls.append([entry.name for entry in entries])
        await asyncio.sleep(0)  # noqa: TID251 — lets the other watch come
        if self.is_down:
            raise plain_error("down")
        return [LAYOUT.entry_of(entry.key, {**entry.tree(), "converted": True}, entry.revision) for entry in entries]

    async def trees(self, trees):
        return [{**tree, "apiVersion": "example.com/v2"} for tree in trees]


def entry(name, revision=1):
    return LAYOUT.entry_of(f"/screens/{name}", {"metadata": {"name": name}}, revision)


async def test_shared_conversion_is_called_once_for_several_watches():
    converter = Renaming()
    shared = SharedConversions(converter)
    first, second = await asyncio.gather(shared.entries([entry("a"), entry("b")]), shared.entries([entry("b")]))
    assert converter.calls == [["a", "b"]]
    assert ([item.name for item in first], second) == (["a", "b"], [first[1]])
    await shared.entries([entry("a", 2)])
    assert converter.calls[1:] == [["a"]]


async def test_failed_shared_conversion_is_retried():
    converter = Renaming()
    shared = SharedConversions(converter)
    converter.is_down = True
    with pytest.raises(StatusError, match="down"):
        await shared.entries([entry("a")])
    converter.is_down = False
    assert [item.tree()["converted"] for item in await shared.entries([entry("a")])] == [True]


class Served:
    def __init__(self, api_version, converter=None):
        self.converter = converter
        self.struct = Struct("Screen", {})
        self.resource = type("Resource", (), {"api_version": api_version, "kind": "Screen"})


@pytest.mark.interpreted
async def test_pending_version_raises_until_it_is_converted():
    others = {version: Served(version, Renaming()) for version in ("example.com/v1", "example.com/v2")}
    versions = PendingVersions(others["example.com/v1"], others)
    with pytest.raises(UnknownVersionError):
        versions.convert({}, "example.com/v3")
    tree = {"spec": {"a": 1}}
    with pytest.raises(PendingConversionError) as caught:
        versions.convert(tree, "example.com/v2")
    await caught.value.resolve()
    assert versions.convert(tree, "example.com/v2") == {
        "apiVersion": "example.com/v2",
        "kind": "Screen",
        "metadata": {},
        "spec": {"a": 1},
    }
    assert versions.struct("example.com/v2") is others["example.com/v2"].struct
