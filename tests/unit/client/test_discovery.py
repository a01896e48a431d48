"""Discovery of resources by kind."""

import pytest
from tests.unit.client.scripted import ScriptedTransport, answer, refusal

from steersman.asynckit.clock import FakeClock
from steersman.client.client import Client
from steersman.client.errors import UnexpectedResponse

RESOURCE_LIST = {
    "resources": [
        {"name": "widgets", "kind": "Widget", "namespaced": True, "singularName": "widget", "verbs": ["get"]},
        {"name": "widgets/status", "kind": "Widget", "namespaced": True, "verbs": ["get"]},
        {"name": "gadgets", "kind": "Gadget", "namespaced": False, "verbs": ["list"]},
    ]
}


def client_of(*script):
    transport = ScriptedTransport(*script)
    return Client(transport, clock=FakeClock()), transport


async def test_resource_of_a_built_in_kind_needs_no_request():
    client, transport = client_of()
    assert (await client.discover("apps/v1", "Deployment")).info.name == "deployments"
    assert transport.requests == []


async def test_resource_queries_each_group_version_once():
    client, transport = client_of(answer(RESOURCE_LIST))
    widget, gadget = (
        await client.discover("example.com/v1", "Widget"),
        await client.discover("example.com/v1", "Gadget"),
    )
    assert (widget.info.name, widget.info.namespaced, widget.info.verbs) == ("widgets", True, ("get",))
    assert (gadget.info.name, gadget.info.namespaced) == ("gadgets", False)
    assert transport.targets == ["GET /apis/example.com/v1"]


async def test_resource_is_queried_again_when_missing():
    client, _ = client_of(refusal(404, "NotFound"), answer({"resources": None}), answer(RESOURCE_LIST))
    for _ in range(2):
        with pytest.raises(LookupError, match='no matches for kind "Widget" in version'):
            await client.discover("example.com/v1", "Widget")
    assert (await client.discover("example.com/v1", "Widget")).info.name == "widgets"


@pytest.mark.parametrize(("subresource", "is_there"), [("status", True), ("scale", False)])
async def test_serves_reports_subresources(subresource, is_there):
    client, _ = client_of(answer(RESOURCE_LIST), answer(RESOURCE_LIST))
    widget = await client.discover("example.com/v1", "Widget")
    assert await client.serves(widget, subresource) is is_there


async def test_resource_raises_unexpected_response_for_malformed_lists():
    client, _ = client_of(answer([1]))
    with pytest.raises(UnexpectedResponse, match="no resources of v9"):
        await client.discover("v9", "Widget")
