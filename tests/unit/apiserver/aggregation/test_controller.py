"""APIServices with a Service: availability, discovery and forwarding, against a real HTTPS backend."""

import asyncio
import json

import pytest
from tests.unit.apiserver.aggregation.backends import (
    API_SERVICES,
    HOST,
    NAME,
    PATH,
    RESOURCES,
    backend,
    condition,
    register,
    response,
    things,
)
from tests.unit.apiserver.webhooks.servers import ca_bundle, server_tls
from tests.unit.flooding import BODY_BYTES, BUFFERED_BYTES_MAX, Flood
from tests.unit.listening import listening

from steersman.apiserver.aggregation import controller
from steersman.testing import InProcessAPIServer

AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


async def group_in_discovery(server, name="things.example.com"):
    items = (await server.request("GET", "/apis", headers=AGGREGATED)).json()["items"]
    return next((item for item in items if item["metadata"]["name"] == name), None)


async def test_apiservice_is_available_when_its_backend_serves_discovery():
    async with InProcessAPIServer() as server, backend() as served:
        await register(server, served.port)
        result = await condition(server, "Passed")
        assert result["message"] == "all checks passed"
        probe = next(seen for seen in served.seen if seen.target == PATH)
        assert probe.headers["x-remote-user"] == ["system:kube-aggregator"]
        assert probe.headers["x-remote-group"] == ["system:masters"]


async def test_discovery_lists_resources_of_a_backend_that_has_legacy_documents_only():
    async with InProcessAPIServer() as server, backend() as served:
        await register(server, served.port)
        await condition(server, "Passed")
        [version] = (await group_in_discovery(server))["versions"]
        assert version["freshness"] == "Current"
        [resource] = version["resources"]
        assert (resource["resource"], resource["scope"]) == ("things", "Namespaced")
        assert resource["subresources"][0]["subresource"] == "status"
        assert (await server.request("GET", PATH)).json() == RESOURCES
        index = (await server.request("GET", "/apis/things.example.com")).json()
        assert index["preferredVersion"]["version"] == "v1"


async def test_discovery_keeps_resources_as_stale_when_the_backend_goes_away():
    async with InProcessAPIServer() as server:
        async with backend() as served:
            await register(server, served.port)
            await condition(server, "Passed")
        patch = {"spec": {"service": {"port": served.port}, "versionPriority": 11}}
        [watched] = server.core.aggregator._watched.values()
        watched.changed.set()
        result = await condition(server, "FailedDiscoveryCheck")
        url = f"https://localhost:{served.port}{PATH}"
        assert result["message"].startswith(f'failing or missing response from {url}: Get "{url}": dial tcp ')
        [version] = (await group_in_discovery(server))["versions"]
        assert (version["freshness"], len(version["resources"])) == ("Stale", 1)
        merge = {"content-type": "application/merge-patch+json"}
        body = json.dumps(patch).encode()
        assert (await server.request("PATCH", f"{API_SERVICES}/{NAME}", body=body, headers=merge)).code == 200
        assert (await server.request("GET", f"{PATH}/namespaces/default/things")).body == b"service unavailable\n"


async def test_apiservice_is_unavailable_when_its_backend_answers_without_end():
    flood = Flood()
    async with InProcessAPIServer() as server, listening(flood, tls=server_tls((HOST,))) as port:
        await register(server, port)
        message = (await condition(server, "FailedDiscoveryCheck"))["message"]
        sent_bytes = flood.sent_bytes
    assert message.endswith(": the answer has more than 4194304 bytes")
    assert sent_bytes < BUFFERED_BYTES_MAX + (4 << 20) < BODY_BYTES


async def test_apiservice_beyond_the_limit_waits_until_another_one_is_deleted(monkeypatch):
    monkeypatch.setattr(controller, "BACKENDS_MAX", 1)
    other = "v2.things.example.com"
    async with InProcessAPIServer() as server, backend() as served:
        await register(server, served.port)
        await condition(server, "Passed")
        await register(server, served.port, name=other)
        rejected = await condition(server, "FailedDiscoveryCheck", name=other)
        assert rejected["message"].endswith("other APIServices with a Service")
        assert len(server.core.aggregator.backends) == 1
        assert (await server.request("DELETE", f"{API_SERVICES}/{NAME}")).code == 200
        await condition(server, "Passed", name=other)
        assert [candidate.spec.version for candidate in server.core.aggregator.backends] == ["v2"]


async def test_requests_carry_the_user_and_no_credentials_to_the_backend():
    async with InProcessAPIServer() as server, backend() as served:
        await register(server, served.port)
        await condition(server, "Passed")
        target = f"{PATH}/namespaces/default/things?labelSelector=a%3Db"
        headers = {
            "impersonate-user": "jane",
            "impersonate-group": "dev",
            "impersonate-extra-acme.com%2fscope": "a",
            "x-remote-user": "mallory",
            "x-remote-extra-forged": "yes",
        }
        await allow(server, "jane")
        answer = await server.request("GET", target, headers=headers)
        assert answer.json()["target"] == target
        seen = served.last(target).headers
        assert seen["x-remote-user"] == ["jane"]
        assert seen["x-remote-group"] == ["dev", "system:authenticated"]
        assert seen["x-remote-extra-acme.com%2fscope"] == ["a"]
        assert not {"authorization", "x-remote-extra-forged", "impersonate-user"} & seen.keys()


async def allow(server, user):
    binding = {
        "metadata": {"name": f"admin-{user}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
    }
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    assert (await server.request("POST", path, body=json.dumps(binding).encode())).code == 201


async def test_bodies_larger_than_the_limit_of_local_requests_are_streamed_to_the_backend():
    async with InProcessAPIServer() as server, backend() as served:
        await register(server, served.port)
        await condition(server, "Passed")
        body = b"x" * (5 << 20)
        answer = await server.request("POST", f"{PATH}/namespaces/default/things", body=body)
        assert answer.code == 200
        assert len(answer.json()["body"]) == len(body)


async def test_connections_to_a_backend_are_reused():
    async with InProcessAPIServer() as server, backend() as served:
        await register(server, served.port)
        await condition(server, "Passed")
        before = served.connections
        for _ in range(20):
            assert (await server.request("GET", f"{PATH}/namespaces/default/things")).code == 200
        assert served.connections - before <= 1


async def test_request_is_repeated_when_a_reused_connection_was_closed():
    async with InProcessAPIServer() as server, backend() as served:
        closing = asyncio.Event()

        async def respond(seen):
            if closing.is_set():
                closing.clear()
                return None
            return await things(seen)

        served.respond = respond
        await register(server, served.port)
        await condition(server, "Passed")
        closing.set()
        assert (await server.request("GET", f"{PATH}/namespaces/default/things")).code == 200


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("other.default.svc", "certificate is valid for other.default.svc, not backend.default.svc"),
        ("backend.default.svc", "certificate signed by unknown authority"),
    ],
)
async def test_backend_with_another_certificate_is_unavailable(host, message):
    bundle = {} if host != "backend.default.svc" else {"caBundle": ca_bundle("another-ca")}
    async with InProcessAPIServer() as server, backend(host=host) as served:
        await register(server, served.port, **bundle)
        result = await condition(server, "FailedDiscoveryCheck")
        assert f"tls: failed to verify certificate: x509: {message}" in result["message"]


async def test_insecure_backend_is_not_verified():
    async with InProcessAPIServer() as server, backend(host="other") as served:
        await register(server, served.port, insecureSkipTLSVerify=True)
        await condition(server, "Passed")


async def test_bundle_without_a_certificate_is_reported():
    async with InProcessAPIServer() as server, backend() as served:
        await register(server, served.port, caBundle="YWJj")
        result = await condition(server, "FailedDiscoveryCheck")
        assert "unable to parse bytes as PEM block" in result["message"]


async def test_redirect_of_a_backend_is_a_bad_gateway():
    async def respond(seen):
        if seen.target in (PATH, "/apis"):
            return await things(seen)
        return response(b"", status=302, headers="Location: https://elsewhere.example.com/\r\n")

    async with InProcessAPIServer() as server, backend(respond) as served:
        await register(server, served.port)
        await condition(server, "Passed")
        answer = await server.request("GET", f"{PATH}/namespaces/default/things")
        assert (answer.code, answer.body) == (
            502,
            b"the backend attempted to redirect this request, which is not permitted",
        )


async def test_garbage_of_a_backend_is_a_503_that_names_it():
    async def respond(seen):
        return await things(seen) if seen.target in (PATH, "/apis") else b"no http\r\n\r\n"

    async with InProcessAPIServer() as server, backend(respond) as served:
        await register(server, served.port)
        await condition(server, "Passed")
        answer = await server.request("GET", f"{PATH}/namespaces/default/things")
        assert answer.code == 503
        assert answer.body.startswith(b"error trying to reach service: malformed HTTP response")


async def test_hanging_backend_holds_up_no_other_request():
    release = asyncio.Event()

    async def respond(seen):
        if seen.target not in (PATH, "/apis"):
            await release.wait()
        return await things(seen)

    async with InProcessAPIServer() as server, backend(respond) as served:
        await register(server, served.port)
        await condition(server, "Passed")
        hanging = asyncio.create_task(server.request("GET", f"{PATH}/namespaces/default/things"))
        assert (await server.request("GET", "/api/v1/namespaces/default")).code == 200
        assert not hanging.done()
        release.set()
        assert (await hanging).code == 200


async def test_request_that_returns_to_the_server_is_a_detected_loop():
    async with InProcessAPIServer() as server, backend() as served:
        await register(server, served.port)
        await condition(server, "Passed")
        target = f"{PATH}/namespaces/default/things"
        await server.request("GET", target)
        [via] = served.last(target).headers["via"]
        answer = await server.request("GET", target, headers={"via": via})
        assert (answer.code, answer.body) == (508, f"the APIService of {PATH} leads back to this API server\n".encode())


async def test_local_apiservice_gets_its_condition_when_the_service_is_removed():
    async with InProcessAPIServer() as server:
        await register(server, 1, insecureSkipTLSVerify=True)
        await condition(server, "FailedDiscoveryCheck")
        merge = {"content-type": "application/merge-patch+json"}
        body = json.dumps({"spec": {"service": None, "insecureSkipTLSVerify": None}}).encode()
        assert (await server.request("PATCH", f"{API_SERVICES}/{NAME}", body=body, headers=merge)).code == 200
        await condition(server, "Local")
        assert await group_in_discovery(server) is None
        index = (await server.request("GET", "/apis/things.example.com")).json()
        assert index["preferredVersion"]["version"] == "v1"
        assert (await server.request("GET", PATH)).code == 404
