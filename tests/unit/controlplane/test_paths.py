"""Non-resource paths."""

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.health.checks import Check, ping
from steersman.apiserver.http import Request
from steersman.apiserver.server.routes import Routes
from steersman.asynckit.clock import RealClock
from steersman.controlplane.paths import HealthChecks, add_about, add_discovery, add_health
from steersman.schema.resources import table


class NoRemoteDocuments:
    """Documents of no backends."""

    def urls(self):
        return {}

    def swaggers(self):
        return ()

    async def serve(self, request, path):
        return None


async def test_root_path_lists_paths_as_upstream():
    routes = Routes()
    add_health(routes, HealthChecks([Check("etcd", ping)], [], shutdown=[Check("shutdown", ping)]))
    add_about(routes, collectors=[])
    add_discovery(
        routes,
        Catalog(table()),
        custom=lambda resource: None,
        clock=RealClock(),
        server_address=lambda: "",
        remote=NoRemoteDocuments(),
    )
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
