"""Non-resource paths."""

import json

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.health.checks import Check, ping
from steersman.apiserver.http import Request
from steersman.apiserver.server.routes import Routes
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.paths import HealthChecks, add_about, add_discovery, add_health, add_zpages
from steersman.schema.resources import table


class NoRemoteDocuments:
    """Documents of no backends."""

    def urls(self):
        return {}

    def swaggers(self):
        return ()

    async def serve(self, request, path):
        return None


def discovery_routes() -> Routes:
    routes = Routes()
    add_discovery(
        routes,
        Catalog(table()),
        custom=lambda resource: None,
        clock=RealClock(),
        server_address=lambda: "",
        remote=NoRemoteDocuments(),
    )
    return routes


@pytest.mark.parametrize("path", ["/apis", "/apis/apps", "/openapi/v3"])
async def test_plain_handlers_answer_every_method(path):
    routes = discovery_routes()
    for method in ("GET", "HEAD", "POST"):
        scope = {"method": method, "path": path, "query_string": b"", "headers": []}
        assert (await routes.dispatch(Request(scope, receive=None))).code == 200


async def test_root_path_lists_paths_as_upstream():
    routes = discovery_routes()
    add_health(routes, HealthChecks([Check("etcd", ping)], [], shutdown=[Check("shutdown", ping)]))
    add_about(routes, collectors=[])
    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": []}
    text = (await routes.dispatch(Request(scope, receive=None))).body.decode()
    listed = [line.strip(' ",') for line in text.splitlines() if '"/' in line]
    assert listed[:6] == [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/apis/admissionregistration.k8s.io",
        "/apis/admissionregistration.k8s.io/v1",
    ]
    assert {
        "/livez/etcd",
        "/readyz/shutdown",
        "/metrics",
        "/metrics/slis",
        "/openapi/v2",
        "/openapi/v3",
        "/version",
    } <= set(listed)
    assert "/livez/shutdown" not in listed


async def test_zpages_describe_the_api_server():
    routes = Routes()
    clock = FakeClock()
    add_zpages(routes, {"v": "2"}, clock=clock)
    await clock.advance(61)

    async def get(path, accept=b""):
        scope = {"method": "GET", "path": path, "query_string": b"", "headers": [(b"accept", accept)]}
        return await routes.dispatch(Request(scope, receive=None))

    text = (await get("/statusz")).body.decode()
    assert text.startswith("\nkube-apiserver statusz\n")
    assert "Up: 0 hr 01 min 01 sec\n" in text
    assert "Paths: /flagz /statusz\n" in text
    answer = await get("/flagz", b"application/json;g=config.k8s.io;v=v1beta1;as=Flagz")
    assert json.loads(answer.body)["flags"] == {"v": "2"}
    with pytest.raises(StatusError, match="only the following media types are accepted"):
        await get("/flagz", b"application/json")
