from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import PODS, Server, pod_spec

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.proxy import Destination, destination_of
from steersman.apiserver.generic.strategy import Strategy

SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
NODES = "/api/v1/nodes"
#: Services without the addresses that are nothing to a proxy.
PLAIN = {"services": Strategy}
REACHED = "error trying to reach service: {}: this control plane does not connect to nodes and pods"


@pytest.mark.parametrize(
    ("text", "destination"),
    [
        ("a", Destination("a")),
        ("a:80", Destination("a", "80")),
        ("a:", Destination("a")),
        ("https:a:", Destination("a", "", "https")),
        (":a:web", Destination("a", "web")),
    ],
)
def test_destination_has_scheme_name_and_port(text, destination):
    assert destination_of(text, "pod") == destination


@pytest.mark.parametrize("text", ["", ":80", "ftp:a:80", "a:b:c:d", "http::80"])
def test_malformed_destinations_are_400(text):
    with pytest.raises(StatusError, match=f'invalid pod request "{text}"'):
        destination_of(text, "pod")


async def make_pod(server: Server, ip: str = "10.1.2.3", **container: object) -> None:
    await server.make(PODS, spec={"containers": [{"name": "c", "image": "i", **container}], "nodeName": "n"})
    await server.merge(f"{PODS}/a/status", {"status": {"podIP": ip, "podIPs": [{"ip": ip}]}})


@pytest.mark.parametrize(
    ("path", "authority"),
    [("a/proxy", "10.1.2.3:8080"), ("a:81/proxy/x/y", "10.1.2.3:81"), ("http:a:web/proxy/", "10.1.2.3:web")],
)
@pytest.mark.parametrize("verb", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_pod_proxy_uses_the_container_port(verb, path, authority):
    async with Server() as server:
        await make_pod(server, ports=[{"containerPort": 8080}])
        answer = await server.call(verb, f"{PODS}/{path}", query="path=/")
        assert (answer.code, answer.body["message"]) == (503, REACHED.format(authority))


async def test_pod_proxy_without_ports_uses_the_default_port_of_the_scheme():
    async with Server() as server:
        await make_pod(server, "fd00::1")
        assert (await server.call("GET", f"{PODS}/a/proxy/")).body["message"] == REACHED.format("[fd00::1]")


@pytest.mark.parametrize(("query", "location"), [("", f"{PODS}/a/proxy/"), ("a=b", f"{PODS}/a/proxy/?a=b")])
@pytest.mark.parametrize("verb", ["GET", "HEAD"])
async def test_proxy_without_a_path_requests_the_root(verb, query, location):
    async with Server() as server:
        await make_pod(server)
        response = await server.router(server.request(verb, f"{PODS}/a/proxy", query=query))
        assert (response.code, response.headers) == (301, [(b"location", location.encode())])


async def test_pod_proxy_without_an_address_is_400():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call("GET", f"{PODS}/a/proxy")
        assert (answer.code, answer.body["message"]) == (400, "address not allowed")
        assert (await server.call("GET", f"{PODS}/none/proxy")).code == 404


@pytest.mark.parametrize("ip", ["127.0.0.1", "169.254.1.1", "224.0.0.1", "255.255.255.255", "0.0.0.0", "::1"])
async def test_pod_proxy_rejects_loopback_link_local_and_multicast_addresses(ip):
    async with Server() as server:
        await make_pod(server, ip)
        assert (await server.call("GET", f"{PODS}/a/proxy")).code == 400


async def test_node_proxy_uses_the_kubelet_or_another_port():
    async with Server() as server:
        await server.make(NODES, status={"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]})
        for name, reached in (("a", "192.0.2.1:10250"), ("a:10250", "192.0.2.1:10250"), ("http:a:81", "192.0.2.1:81")):
            answer = await server.call("GET", f"{NODES}/{name}/proxy/")
            assert answer.body["message"] == REACHED.format(reached)
        assert (await server.call("GET", f"{NODES}/none/proxy")).code == 404
        assert (await server.call("GET", f"{NODES}/a:b:c:d/proxy")).code == 400


@pytest.mark.parametrize(
    ("host", "message"), [("127.0.0.1", "address not allowed"), ("h..h", "lookup h..h: no such host")]
)
async def test_node_proxy_rejects_other_ports_of_local_or_unknown_addresses(host, message):
    async with Server() as server:
        await server.make(NODES, status={"addresses": [{"type": "Hostname", "address": host}]})
        answer = await server.call("GET", f"{NODES}/a:81/proxy/")
        assert (answer.code, answer.body["message"]) == (400, message)


async def make_service(server: Server) -> None:
    await server.make(
        SERVICES, metadata={"name": "s"}, spec={"clusterIP": "None", "ports": [{"name": "web", "port": 80}]}
    )


def subset(kind: str = "addresses", *, ip: str = "10.1.2.3", namespace: str = "default") -> dict[str, object]:
    target = {"kind": "Pod", "name": "a", "namespace": namespace}
    return {kind: [{"ip": ip, "targetRef": target}], "ports": [{"name": "web", "port": 8080}]}


async def make_endpoints(server: Server, *subsets: dict[str, object]) -> None:
    answer = await server.call("POST", ENDPOINTS, {"metadata": {"name": "s"}, "subsets": subsets})
    assert answer.code == 201, answer.body


@pytest.mark.parametrize("name", ["s:web", "s:80", "http:s:80"])
async def test_service_proxy_uses_a_ready_endpoint(name):
    async with Server(strategies=PLAIN) as server:
        await make_pod(server)
        await make_service(server)
        await make_endpoints(server, subset())
        answer = await server.call("GET", f"{SERVICES}/{name}/proxy/x")
        assert (answer.code, answer.body["message"]) == (503, REACHED.format("10.1.2.3:8080"))


@pytest.mark.parametrize("name", ["s", "s:nope", "http:s:nope"])
async def test_service_proxy_to_an_unknown_port_is_503(name):
    async with Server(strategies=PLAIN) as server:
        await make_pod(server)
        await make_endpoints(server, subset())
        answer = await server.call("GET", f"{SERVICES}/{name}/proxy")
        assert (answer.code, answer.body["message"]) == (503, f'no endpoints available for service "{name}"')


@pytest.mark.parametrize(
    "addresses",
    [subset("notReadyAddresses"), subset(ip="10.9.9.9"), subset(namespace="other"), {"ports": [{"port": 1}]}],
)
async def test_service_proxy_uses_ready_addresses_of_pods_only(addresses):
    async with Server(strategies=PLAIN) as server:
        await make_pod(server)
        await make_endpoints(server, {"addresses": [{"ip": "10.7.7.7"}], **addresses})
        answer = await server.call("GET", f"{SERVICES}/s:web/proxy")
        assert (answer.code, answer.body["message"]) == (503, 'no endpoints available for service "s:web"')


async def test_service_proxy_without_endpoints_is_404():
    async with Server(strategies=PLAIN) as server:
        await make_service(server)
        answer = await server.call("GET", f"{SERVICES}/s:80/proxy")
        assert (answer.code, answer.body["message"]) == (404, 'services "s" not found')


async def test_service_proxy_takes_port_numbers_of_the_service():
    async with Server(strategies=PLAIN) as server:
        await make_service(server)
        answer = await server.call("GET", f"{SERVICES}/s:81/proxy")
        assert (answer.code, answer.body["message"]) == (503, 'no service port 81 found for service "s"')
        assert (await server.call("GET", f"{SERVICES}/none:81/proxy")).code == 404
        assert (await server.call("GET", f"{SERVICES}/a:b:c:d/proxy")).body["message"] == (
            'invalid service request "a:b:c:d"'
        )
