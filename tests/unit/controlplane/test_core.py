"""The whole server without a socket."""

import json

import pytest

from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.testing import InProcessAPIServer


@pytest.fixture
async def server():
    async with InProcessAPIServer() as started:
        yield started


async def test_the_system_namespaces_are_there_from_the_start(server):
    answer = await server.request("GET", "/api/v1/namespaces")
    names = [item["metadata"]["name"] for item in answer.json()["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_readiness_tells_of_the_hooks_and_of_stopping(server):
    answer = await server.request("GET", "/readyz?verbose")
    assert "[+]poststarthook/start-system-namespaces-controller ok" in answer.body.decode()
    server.core.begin_shutdown()
    answer = await server.request("GET", "/readyz")
    assert (answer.code, "[-]shutdown failed" in answer.body.decode()) == (500, True)
    assert (await server.request("GET", "/livez")).code == 200


async def test_watch_is_served_during_pre_shutdown_hooks_and_ends_after_them(server):
    async with server.open("GET", "/api/v1/namespaces/default/configmaps?watch=1") as watch:
        events = aiter(watch)
        server.core.begin_shutdown()
        await server.core.run_pre_shutdown_hooks()
        body = json.dumps({"metadata": {"name": "a"}, "data": {"k": "v"}}).encode()
        assert (await server.request("POST", "/api/v1/namespaces/default/configmaps", body=body)).code == 201
        assert json.loads(await anext(events))["type"] == "ADDED"
        server.core.end_watches()
        assert [event async for event in events] == []


async def test_strangers_get_401_and_403(server):
    anonymous = server.anonymous()
    assert (await anonymous.request("GET", "/api/v1/pods")).code == 403
    refused = await anonymous.request("GET", "/livez", headers={"authorization": "Bearer nonsense"})
    assert (refused.code, refused.json()["message"]) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("PUT", "/version", 405),
        ("POST", "/healthz", 200),
        ("HEAD", "/apis", 200),
        ("HEAD", "/apis/apps/v1", 405),
        ("HEAD", "/api/v1/namespaces/default", 405),
        ("OPTIONS", "/api/v1/namespaces/default", 405),
        ("DELETE", "/apis/apps/v1", 405),
        ("GET", "/healthz/", 404),
        ("GET", "/metrics/unknown", 404),
        ("GET", "/apis/nothing.example.com/v1/namespaces/a/things", 404),
        ("GET", "/api/v1//namespaces/default/configmaps/a", 404),
        ("GET", "/apis/apps/v1/namespaces/default/deployments//status", 400),
        ("GET", "/api/v1/watch", 404),
        ("GET", "/index.html", 200),
        ("GET", "/openapi/v3", 200),
    ],
)
async def test_odd_methods_and_paths(server, method, path, code):
    assert (await server.request(method, path)).code == code


async def test_metrics_count_what_was_asked(server):
    await server.request("GET", "/api/v1/namespaces/default/configmaps/none")
    text = (await server.request("GET", "/metrics")).body.decode()
    assert (
        'apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="configmaps",'
        'scope="resource",subresource="",verb="GET",version="v1"} 1'
    ) in text.splitlines()


async def test_bad_options_are_refused():
    with pytest.raises(OptionError, match="service-cluster-ip-range"):
        async with InProcessAPIServer(options=APIServerOptions(service_cluster_ip_range="10.0.0.1/24")):
            pass
