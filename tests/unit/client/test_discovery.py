"""Which resource serves a kind."""

import pytest
from tests.unit.client.scripted import ScriptedTransport, answer, refusal

from steersman.asynckit.clock import FakeClock
from steersman.client.client import Client
from steersman.client.errors import UnreadableAnswer

TOLD = {
    "resources": [
        {"name": "widgets", "kind": "Widget", "namespaced": True, "singularName": "widget", "verbs": ["get"]},
        {"name": "widgets/status", "kind": "Widget", "namespaced": True, "verbs": ["get"]},
        {"name": "gadgets", "kind": "Gadget", "namespaced": False, "verbs": ["list"]},
    ]
}


def client_of(*script):
    transport = ScriptedTransport(*script)
    return Client(transport, clock=FakeClock()), transport


async def test_built_in_kinds_are_known():
    client, transport = client_of()
    assert (await client.discover("apps/v1", "Deployment")).info.name == "deployments"
    assert transport.requests == []


async def test_the_server_is_asked_once_for_all_kinds_of_a_version():
    client, transport = client_of(answer(TOLD))
    widget, gadget = (
        await client.discover("example.com/v1", "Widget"),
        await client.discover("example.com/v1", "Gadget"),
    )
    assert (widget.info.name, widget.info.namespaced, widget.info.verbs) == ("widgets", True, ("get",))
    assert (gadget.info.name, gadget.info.namespaced) == ("gadgets", False)
    assert transport.targets == ["GET /apis/example.com/v1"]


async def test_a_kind_that_is_not_there_may_come():
    client, _ = client_of(refusal(404, "NotFound"), answer({"resources": None}), answer(TOLD))
    for _ in range(2):
        with pytest.raises(LookupError, match='no matches for kind "Widget" in version'):
            await client.discover("example.com/v1", "Widget")
    assert (await client.discover("example.com/v1", "Widget")).info.name == "widgets"


@pytest.mark.parametrize(("subresource", "is_there"), [("status", True), ("scale", False)])
async def test_the_server_says_which_subresources_there_are(subresource, is_there):
    client, _ = client_of(answer(TOLD), answer(TOLD))
    widget = await client.discover("example.com/v1", "Widget")
    assert await client.serves(widget, subresource) is is_there


async def test_nonsense_is_told_as_such():
    client, _ = client_of(answer([1]))
    with pytest.raises(UnreadableAnswer, match="no resources of v9"):
        await client.discover("v9", "Widget")
