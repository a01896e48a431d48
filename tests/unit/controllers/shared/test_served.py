import msgspec
import pytest

from steersman.client import Client
from steersman.client.errors import ClientError
from steersman.client.transport import Response
from steersman.controllers.shared.served import discover


class Scripted:
    """Answers by path; what is not there is a 404."""

    host = "scripted"

    def __init__(self, **answers):
        self._answers = answers

    async def request(self, request):
        response = self._answers.get(request.path)
        if isinstance(response, bytes):
            return Response(200, {}, response)
        return Response(200 if response else 404, {}, msgspec.json.encode(response or {}))


def row(resource, kind, *, scope="Namespaced", verbs=("get", "list")):
    return {"resource": resource, "responseKind": {"kind": kind}, "scope": scope, "verbs": list(verbs)}


def groups(*items):
    return {"kind": "APIGroupDiscoveryList", "items": list(items)}


CORE = {
    "metadata": {},
    "versions": [{"version": "v1", "resources": [row("pods", "Pod"), row("nodes", "Node", scope="Cluster")]}],
}
APPS = {
    "metadata": {"name": "apps"},
    "versions": [
        {"version": "v2", "resources": [row("things", "Thing")]},
        {"version": "v1", "resources": [row("things", "Thing"), row("olds", "Old", verbs=["get"])]},
        {"version": "v3", "freshness": "Stale"},
    ],
}


async def test_aggregated_discovery_lists_all_and_preferred_versions():
    served = await discover(Client(Scripted(**{"/api": groups(CORE), "/apis": groups(APPS)})))
    assert sorted(served.preferred) == ["nodes", "olds.apps", "pods", "things.apps"]
    assert served.preferred["things.apps"].info.version == "v2"
    assert served.preferred["olds.apps"].info.version == "v1"
    assert ("apps/v1", "Thing") in served.kinds
    assert not served.preferred["nodes"].info.namespaced
    assert sorted(served.supporting("get", "list")) == ["nodes", "pods", "things.apps"]


async def test_stale_group_is_reported():
    served = await discover(Client(Scripted(**{"/api": groups(), "/apis": groups(APPS)})))
    assert served.failed == {"apps/v3": "stale GroupVersion discovery: apps/v3"}


async def test_unaggregated_discovery_reads_each_version():
    resources = [
        {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["list"]},
        {"name": "things/status", "kind": "Thing"},
    ]
    listed = {"name": "apps", "versions": [{"version": "v1"}, {"version": "v2"}], "preferredVersion": {"version": "v2"}}
    served = await discover(
        Client(
            Scripted(
                **{
                    "/api": {"kind": "APIVersions", "versions": ["v1"]},
                    "/api/v1": {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True}]},
                    "/apis": {"kind": "APIGroupList", "groups": [listed]},
                    "/apis/apps/v2": {"resources": resources},
                }
            )
        )
    )
    assert sorted(served.preferred) == ["pods", "things.apps"]
    assert list(served.failed) == ["apps/v1"]


async def test_malformed_discovery_document_is_an_error():
    with pytest.raises(ClientError, match="no discovery document at /api"):
        await discover(Client(Scripted(**{"/api": b"<html>"})))
