"""A source over a client."""

from lightkube.models.core_v1 import ConfigMap
from tests.unit.client.scripted import ScriptedTransport, Stream, listing

from steersman.asynckit.clock import FakeClock
from steersman.client.client import Client
from steersman.client.resource_types import typed
from steersman.client.source import ClientSource


async def test_client_source_sends_its_selection_with_every_request():
    transport = ScriptedTransport(listing(version=5), Stream(ends=True), Stream(ends=True))
    client = Client(transport, clock=FakeClock())
    source = ClientSource(client, typed(ConfigMap), namespace="x", label_selector="a", field_selector="metadata.name=b")
    await source.list(limit=3)
    async with source.watch(resource_version="5", timeout_seconds=9, send_initial_events=None):
        pass
    async with source.watch(resource_version="", timeout_seconds=9, send_initial_events=True):
        pass
    selection = "labelSelector=a&fieldSelector=metadata.name%3Db"
    path = "GET /api/v1/namespaces/x/configmaps"
    tail = "timeoutSeconds=9&watch=true&allowWatchBookmarks=true"
    assert transport.targets == [
        f"{path}?{selection}&limit=3",
        f"{path}?{selection}&resourceVersion=5&{tail}",
        f"{path}?{selection}&resourceVersionMatch=NotOlderThan&{tail}&sendInitialEvents=true",
    ]
    assert source.name == "configmaps"
