from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import PODS, Server, causes, pod_spec

POD = f"{PODS}/a"
TWO = {
    "containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}],
    "initContainers": [{"name": "i", "image": "i"}],
}
UPGRADE = {"connection": "Upgrade", "upgrade": "websocket"}
STREAMS = ("exec", "attach", "portforward")


async def make_node(server: Server) -> None:
    await server.make(
        "/api/v1/nodes", metadata={"name": "n"}, status={"addresses": [{"type": "Hostname", "address": "h"}]}
    )


async def test_log_of_an_unscheduled_pod_is_empty():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        response = await server.router(server.request("GET", f"{POD}/log"))
        assert (response.code, response.body, response.headers) == (204, b"", [])


@pytest.mark.parametrize("subresource", ["log", *STREAMS])
async def test_log_of_a_missing_pod_is_404(subresource):
    async with Server() as server:
        answer = await server.call("GET", f"{POD}/{subresource}")
        assert (answer.code, answer.body["message"]) == (404, 'pods "a" not found')


@pytest.mark.parametrize("subresource", ["log", "exec", "attach"])
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("container=x", "container x is not valid for pod a"),
        ("", "a container name must be specified for pod a, choose one of: [i c d]"),
    ],
)
async def test_streams_require_a_container_name_when_there_are_several(subresource, query, message):
    async with Server() as server:
        await server.make(PODS, spec=TWO)
        answer = await server.call("GET", f"{POD}/{subresource}", query=query)
        assert (answer.code, answer.body["message"]) == (400, message)


@pytest.mark.parametrize("container", ["c", "i"])
async def test_log_accepts_init_and_ephemeral_containers(container):
    async with Server() as server:
        await server.make(PODS, spec=TWO)
        response = await server.router(server.request("GET", f"{POD}/log", query=f"container={container}"))
        assert response.code == 204


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("tailLines=-1&limitBytes=0&sinceSeconds=0", ["tailLines", "limitBytes", "sinceSeconds"]),
        ("sinceSeconds=5&sinceTime=2024-05-01T10:00:00Z", ["[]"]),
        ("stream=Stdout", ["stream"]),
    ],
)
async def test_invalid_log_options_are_422(query, fields):
    async with Server() as server:
        answer = await server.call("GET", f"{POD}/log", query=query)
        assert (answer.code, answer.body["details"]["kind"]) == (422, "PodLogOptions")
        assert [at for _, at in causes(answer)] == fields


@pytest.mark.parametrize("verb", ["GET", "POST"])
@pytest.mark.parametrize("subresource", STREAMS)
async def test_exec_attach_and_port_forward_require_a_scheduled_pod(verb, subresource):
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call(verb, f"{POD}/{subresource}")
        assert (answer.code, answer.body["message"]) == (400, "pod a does not have a host assigned")


@pytest.mark.parametrize("subresource", ["log", *STREAMS])
async def test_log_of_a_pod_on_a_missing_node_is_404(subresource):
    async with Server() as server:
        await server.make(PODS, spec=pod_spec(nodeName="n"))
        answer = await server.call("GET", f"{POD}/{subresource}")
        assert (answer.code, answer.body["message"]) == (404, 'nodes "n" not found')


@pytest.mark.parametrize(
    ("subresource", "message"),
    [
        ("log", 'Get "https://h:10250/containerLogs/default/a/c"'),
        ("exec", "error dialing backend: h:10250"),
        ("portforward", "error dialing backend: h:10250"),
    ],
)
async def test_streams_to_an_unreachable_node_are_500(subresource, message):
    async with Server() as server:
        await make_node(server)
        await server.make(PODS, spec=pod_spec(nodeName="n"))
        answer = await server.call("GET", f"{POD}/{subresource}", headers=UPGRADE)
        assert answer.code == 500
        assert answer.body["message"].startswith(message)


async def test_log_supports_get_only():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", f"{POD}/log")).code == 405
        assert (await server.call("PUT", f"{POD}/exec")).code == 405
