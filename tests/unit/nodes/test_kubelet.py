"""The kubelet API over a socket, with an echoing host."""

import asyncio
import base64
import json
import socket
import struct
from contextlib import asynccontextmanager

import aiohttp
import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.listening import closed_port, connected_to, listening

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.nodes.kubelet import spdy
from steersman.nodes.kubelet.assembly import LazyKubeletServer
from steersman.nodes.kubelet.channel_socket import V1, V1_BASE64, V4, V4_BASE64, V5
from steersman.nodes.kubelet.host import RequestError
from steersman.nodes.kubelet.node_pages import NodePage
from steersman.nodes.kubelet.pages import component_pages
from steersman.nodes.kubelet.server import SPDY_FORWARDING, KubeletServer, Pods
from steersman.nodes.options import NodesOptions

POD = {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"containers": [{"name": "c"}]}}


class Host:
    """Host that echoes its input."""

    def __init__(self) -> None:
        self.options = []
        self.sizes = []

    def has(self, pod):
        return True

    async def logs(self, pod, container, options):
        self.options.append(options)
        if options.previous:
            raise RequestError("no such log")
        yield b"one\n"
        yield b"two\n"

    async def execute(self, pod, container, command, streams):
        if command == ["none"]:
            raise RequestError("not found")
        if streams.tty:
            self.sizes.append(await streams.next_size())
        while streams.wants_stdin and (piece := await streams.read()):
            await streams.write(piece)
        await streams.write(" ".join(command).encode(), error=True)
        return 3 if command == ["fails"] else 0

    async def attach(self, pod, container, streams):
        await streams.write(b"attached")

    async def connect(self, pod, port):
        if port == 1:
            raise RequestError("nobody there")
        return await asyncio.open_connection("127.0.0.1", port)


@asynccontextmanager
async def kubelet(host, clock=None, **pages):
    sock = socket.create_server(("127.0.0.1", 0))
    sock.setblocking(False)
    port = sock.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    pods = Pods(
        lambda namespace, name: POD if (namespace, name) == ("ns", "p") else None,
        lambda address: POD if address in ("10.0.0.1", "fd00::1") else None,
        lambda: [POD],
    )
    server = KubeletServer(sock, None, pods=pods, hosts=[host], clock=clock or RealClock(), **pages)
    running = asyncio.create_task(server.run())
    try:
        async with aiohttp.ClientSession(address) as session:
            yield session
    finally:
        server.stop()
        await running


async def messages(session, path, *sent, protocol=V5):
    """Return the messages received over a WebSocket, by channel."""
    result = {}
    async with session.ws_connect(path, protocols=[protocol]) as websocket:
        for item in sent:
            await websocket.send_bytes(item)
        async for message in websocket:
            result[message.data[0]] = result.get(message.data[0], b"") + message.data[1:]
    return result


class RecordingServer:
    """Server that records whether it runs."""

    def __init__(self):
        self.ran, self.stopped = asyncio.Event(), asyncio.Event()

    async def run(self):
        self.ran.set()
        await self.stopped.wait()

    def stop(self):
        self.stopped.set()


async def test_lazy_server_is_created_on_the_first_connection():
    created = []
    with socket.create_server(("127.0.0.1", 0)) as sock:
        server = LazyKubeletServer(sock, lambda _: created.append(RecordingServer()) or created[0])
        running = asyncio.create_task(server.run())
        await asyncio.wait([running], timeout=0)
        assert created == []
        async with connected_to(*sock.getsockname()), asyncio.timeout(HANG_SECONDS):
            await server._requested.wait()
            while not created:
                await asyncio.wait([running], timeout=0.01)
            await created[0].ran.wait()
        server.stop()
        await running


async def test_lazy_server_is_not_created_without_a_connection():
    sock = socket.create_server(("127.0.0.1", 0))
    server = LazyKubeletServer(sock, None)
    running = asyncio.create_task(server.run())
    await asyncio.wait([running], timeout=0)
    server.stop()
    await running
    assert sock.fileno() == -1


async def test_lazy_server_serves_the_socket_to_which_it_moved():
    served = []
    first = socket.create_server(("127.0.0.1", 0))
    server = LazyKubeletServer(first, lambda sock: served.append(sock) or RecordingServer())
    running, first_port = asyncio.create_task(server.run()), server.port
    await asyncio.wait([running], timeout=0)
    server.listen_elsewhere()
    assert first.fileno() == -1
    assert server.port != first_port
    async with connected_to("127.0.0.1", server.port), asyncio.timeout(HANG_SECONDS):
        while not served:
            await asyncio.wait([running], timeout=0.01)
    with served[0] as sock:
        assert sock.getsockname()[1] == server.port
        with pytest.raises(RuntimeError, match="serves connections already"):
            server.listen_elsewhere()
        server.stop()
        await running


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/healthz", 200, "ok"),
        ("/healthz?verbose", 200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"),
        ("/healthz/syncloop", 200, "ok"),
        ("/healthz/moon", 404, "404 page not found\n"),
        ("/nowhere", 404, "404 page not found\n"),
        ("/containerLogs/ns/p/c?tailLines=3", 200, "one\ntwo\n"),
        ("/containerLogs/ns/p/c?previous=true", 400, "no such log"),
        ("/containerLogs/ns/p/c?tailLines=x", 400, "invalid literal for int() with base 10: 'x'"),
        ("/containerLogs/ns/q/c", 404, "pod does not exist"),
        ("/containerLogs/ns/p/d", 404, 'container "d" not found in pod "p"'),
        ("/exec/ns/p/c?command=a", 400, "you must specify at least 1 of stdin, stdout, stderr"),
    ],
)
async def test_http_request_is_answered(path, code, text):
    async with kubelet(Host()) as session, session.get(path) as answer:
        assert (answer.status, await answer.text()) == (code, text)


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/checkpoint/ns/q/c", 404, "pod does not exist"),
        ("/checkpoint/ns/p/d", 404, "container d does not exist"),
        ("/checkpoint/ns/p/c?timeout=x", 404, "cannot parse value of timeout parameter"),
        (
            "/checkpoint/ns/p/c?timeout=5",
            500,
            (
                "checkpointing of ns/p/c failed"
                " (rpc error: code = Unimplemented desc = method CheckpointContainer not implemented)"
            ),
        ),
    ],
)
async def test_checkpoint_is_answered_as_by_a_runtime_without_checkpoints(path, code, text):
    async with kubelet(Host()) as session, session.post(path) as response:
        assert (response.status, await response.text()) == (code, text)


async def test_pods_and_metrics_are_served():
    async with kubelet(Host()) as session:
        async with session.get("/pods") as answer:
            assert (await answer.json())["items"] == [POD]
        async with session.get("/metrics") as answer:
            assert "kubelet_running_pods 0\n" in await answer.text()


async def test_exec_streams_input_and_output():
    path = "/exec/ns/p/c?command=a&command=b&input=1&output=1&error=1"
    async with kubelet(Host()) as session:
        result = await messages(session, path, b"\x00hello", b"\xff\x00")
    assert (result[1], result[2]) == (b"hello", b"a b")
    assert json.loads(result[3]) == {"metadata": {}, "status": "Success"}


async def test_exec_with_tty_receives_size_and_merges_output():
    path = "/exec/ns/p/c?command=a&output=1&error=1&tty=1"
    async with kubelet(host := Host()) as session:
        result = await messages(session, path, b'\x04{"Width":80,"Height":24}')
    assert result[1] == b"a"
    assert [(size.width, size.height) for size in host.sizes] == [(80, 24)]


@pytest.mark.parametrize(
    ("command", "reason", "cause"),
    [
        ("fails", "NonZeroExitCode", {"reason": "ExitCode", "message": "3"}),
        ("none", "InternalError", {"message": "not found"}),
    ],
)
async def test_exec_ends_with_a_status(command, reason, cause):
    async with kubelet(Host()) as session:
        result = await messages(session, f"/exec/ns/p/c?command={command}&output=1", protocol=V4)
    status = json.loads(result[3])
    assert (status["status"], status["reason"], status["details"]["causes"]) == ("Failure", reason, [cause])


def encoded(protocol, channel, data):
    """Return a message of a channel as clients of the subprotocol send and receive it."""
    if "base64" in protocol:
        return f"{channel}{base64.b64encode(data).decode()}"
    return bytes([channel]) + data


async def send(websocket, message):
    await (websocket.send_str(message) if isinstance(message, str) else websocket.send_bytes(message))


@pytest.mark.parametrize("protocol", ["", V1, V1_BASE64, V4, V4_BASE64, V5])
async def test_exec_in_each_subprotocol(protocol):
    path = "/exec/ns/p/c?command=fails&input=1&output=1"
    async with kubelet(Host()) as session:
        async with session.ws_connect(path, protocols=[protocol] if protocol else []) as websocket:
            assert websocket.protocol == (protocol or None)
            await send(websocket, encoded(protocol, 0, b"hello"))
            received = [(await websocket.receive()).data for _ in range(2)]
            assert received == [encoded(protocol, 1, b""), encoded(protocol, 1, b"hello")]
        if protocol in ("", V1, V1_BASE64):
            quiet = "/exec/ns/p/c?command=a&output=1"
            async with session.ws_connect(quiet, protocols=[protocol] if protocol else []) as websocket:
                assert [message.data async for message in websocket] == [encoded(protocol, 1, b"")]
            failing = "/exec/ns/p/c?command=fails&output=1"
            async with session.ws_connect(failing, protocols=[protocol] if protocol else []) as websocket:
                text = b"command terminated with non-zero exit code: exit status 3"
                assert [message.data async for message in websocket][-1] == encoded(protocol, 3, text)


async def test_malformed_base64_is_dropped():
    async with (
        kubelet(Host()) as session,
        session.ws_connect("/exec/ns/p/c?command=a&input=1&output=1", protocols=[V4_BASE64]) as websocket,
    ):
        for message in ("", "0!", encoded(V4_BASE64, 0, b"x")):
            await websocket.send_str(message)
        assert [(await websocket.receive()).data for _ in range(2)] == ["1", encoded(V4_BASE64, 1, b"x")]


async def test_exec_sends_nothing_before_the_client_answers_a_ping():
    async with (
        kubelet(Host()) as session,
        session.ws_connect("/exec/ns/p/c?command=a&output=1&error=1", protocols=[V5], autoping=False) as websocket,
    ):
        ping = await websocket.receive()
        assert ping.type is aiohttp.WSMsgType.PING
        await websocket.ping(b"mine")
        pong = await websocket.receive()
        assert (pong.type, pong.data) == (aiohttp.WSMsgType.PONG, b"mine")
        await websocket.pong(ping.data)
        assert [message.data[:1] async for message in websocket] == [b"\1", b"\2", b"\3"]


async def test_exec_begins_without_a_pong_after_a_second():
    clock = FakeClock()
    async with (
        kubelet(Host(), clock) as session,
        session.ws_connect("/exec/ns/p/c?command=a&output=1", protocols=[V5], autoping=False) as websocket,
    ):
        assert (await websocket.receive()).type is aiohttp.WSMsgType.PING
        await clock.advance(1)
        assert [message.data[:1] async for message in websocket] == [b"\1", b"\3"]


async def test_unknown_subprotocol_is_refused():
    async with kubelet(Host()) as session:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await session.ws_connect("/exec/ns/p/c?command=a&output=1", protocols=["other"])


async def test_attach_uses_the_hosts_attach():
    async with kubelet(Host()) as session:
        received = await messages(session, "/attach/ns/p/c?output=1")
        assert received[1] == b"attached"
        assert json.loads(received[3])["status"] == "Success"


@asynccontextmanager
async def echoing():
    async def echo(reader, writer):
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    async with listening(echo) as port:
        yield port


async def test_port_forward_over_spdy_frames():
    writer, reader, frames = spdy.Writer(), spdy.Reader(), []
    async with echoing() as port, kubelet(Host()) as session:
        headers = {"port": str(port), "requestID": "0"}
        async with session.ws_connect("/portForward/ns/p", protocols=[SPDY_FORWARDING]) as websocket:
            await websocket.send_bytes(writer.stream(1, {**headers, "streamType": "error"}, flags=spdy.FIN))
            await websocket.send_bytes(writer.stream(3, {**headers, "streamType": "data"}))
            await websocket.send_bytes(writer.ping(5) + writer.data(3, b"hello", last=True))
            while sum(isinstance(frame, spdy.Data) and bool(frame.flags) for frame in frames) < 2:
                frames += reader.feed((await websocket.receive()).data)
    assert b"".join(frame.data for frame in frames if isinstance(frame, spdy.Data) and frame.stream == 3) == b"hello"
    assert {frame.type for frame in frames if isinstance(frame, spdy.Control)} == {spdy.SYN_REPLY, spdy.PING}


@pytest.mark.parametrize("protocol", ["", V1, V1_BASE64, V4, V4_BASE64])
async def test_port_forward_over_channels(protocol):
    async with echoing() as port, kubelet(Host()) as session:
        path = f"/portForward/ns/p?port={port}"
        async with session.ws_connect(path, protocols=[protocol] if protocol else []) as websocket:
            greetings = [(await websocket.receive()).data for _ in range(2)]
            await send(websocket, encoded(protocol, 0, b"hello"))
            assert (await websocket.receive()).data == encoded(protocol, 0, b"hello")
    assert greetings == [encoded(protocol, channel, struct.pack("<H", port)) for channel in (0, 1)]


@asynccontextmanager
async def connect_request(target):
    """Send a ``CONNECT`` request; yield the response head and the connection."""
    async with kubelet(Host()) as session:
        url = session._base_url
        async with connected_to(url.host, url.port) as (reader, writer):
            # Bytes right after the request already belong to the pod.
            writer.write(f"CONNECT {target} HTTP/1.1\r\nhost: h\r\n\r\nhello".encode())
            yield await reader.readuntil(b"\r\n\r\n"), reader, writer


@pytest.mark.parametrize("address", ["10.0.0.1", "[fd00::1]"])
async def test_connect_tunnels_to_a_pods_address(address):
    async with echoing() as port, connect_request(f"{address}:{port}") as (head, reader, writer):
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"transfer-encoding" not in head.lower()
        assert await reader.readexactly(5) == b"hello"
        large = b"x" * 500_000
        writer.write(large)
        assert await reader.readexactly(len(large)) == large


async def test_connect_ends_when_the_pod_closes():
    async def bye(reader, writer):
        assert await reader.read(100) == b"hello"
        writer.write(b"bye")
        writer.close()

    async with listening(bye) as port, connect_request(f"10.0.0.1:{port}") as (_, reader, _):
        assert await reader.read() == b"bye"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("10.0.0.1:1", b"connect: connection refused: nobody there"),
        ("10.0.0.2:80", b"connect: no route to host"),
    ],
)
async def test_connect_reports_why_a_pod_cannot_be_dialled(target, message):
    async with connect_request(target) as (head, reader, _):
        assert head.startswith(b"HTTP/1.1 502 ")
        assert await reader.readexactly(len(message)) == message


async def test_connect_is_refused_when_the_port_is_closed():
    with closed_port() as port:
        async with connect_request(f"10.0.0.1:{port}") as (head, reader, _):
            assert head.startswith(b"HTTP/1.1 502 ")
            assert await reader.readexactly(27) == b"connect: connection refused"


async def test_statusz_and_flagz_describe_the_process_of_the_nodes():
    page = component_pages(NodesOptions(nodes=3, process_pods=True), clock=FakeClock())
    async with kubelet(Host(), component_page=page) as session:
        async with session.get("/statusz", headers={"Accept": ""}) as answer:
            assert (await answer.text()).startswith("\nkubelet statusz\n")
        form = "application/json;g=config.k8s.io;v=v1beta1;as="
        async with session.get("/statusz", headers={"Accept": form + "Statusz"}) as answer:
            assert "/containerLogs" in (await answer.json())["paths"]
        async with session.get("/flagz", headers={"Accept": form + "Flagz"}) as answer:
            flags = (await answer.json())["flags"]
            assert (flags["nodes"], flags["process-pods"], flags["node-template"]) == ("3", "true", "")
        async with session.get("/flagz", headers={"Accept": "image/png"}) as answer:
            assert (answer.status, (await answer.json())["reason"]) == (406, "NotAcceptable")
        async with session.get("/configz") as answer:
            assert answer.status == 404


async def test_page_about_a_node_is_served_with_its_type():
    requested = []

    def page(path, forwarded_uri):
        requested.append((path, forwarded_uri))
        return NodePage(b"{}", "application/json") if path == "/stats/summary" else None

    uri = "/api/v1/nodes/n/proxy/stats/summary"
    async with kubelet(Host(), node_page=page) as session:
        async with session.get("/stats/summary", headers={"X-Forwarded-Uri": uri}) as response:
            assert (response.content_type, await response.text()) == ("application/json", "{}")
        async with session.get("/stats/other") as response:
            assert response.status == 404
    assert requested == [("/stats/summary", uri), ("/stats/other", "")]
