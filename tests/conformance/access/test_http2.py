"""The same requests over HTTP/1.1 and HTTP/2, and attacks that only HTTP/2 permits."""

from __future__ import annotations

import asyncio
import gzip
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hyperframe.frame import ContinuationFrame, HeadersFrame
from tests.busy_machine import HANG_SECONDS, advance_until
from tests.unit.http2_peer import Http2Peer
from tests.unit.listening import connected_to

from steersman.apiserver.server.http1.connection import ServerConnection
from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX, Timeouts
from steersman.apiserver.server.http1.serving import Serving, listen
from steersman.apiserver.server.http2 import limits
from steersman.apiserver.server.http2.connection import Http2Connection
from steersman.asynckit.clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from steersman.testing import InProcessAPIServer

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CALM, PROTOCOL_ERROR, CANCEL = 11, 1, 8
HUGE = 2**30


async def wait_until(is_over: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not is_over():  # noqa: ASYNC110 — there is no event
            await asyncio.sleep(0.001)  # noqa: TID251


@asynccontextmanager
async def listening(server: InProcessAPIServer, clock: FakeClock, *, http2: bool = True) -> AsyncIterator[Any]:
    """Serve one protocol over TCP; yield the serving and its port."""
    serving = Serving(
        server.core.app,
        clock=clock,
        new_connection=(lambda state: Http2Connection(state, limits.STREAMS_MAX)) if http2 else ServerConnection,
    )
    sock = listen("127.0.0.1", 0)
    await serving.start(sock, None)
    try:
        yield serving, sock.getsockname()[1]
    finally:
        await serving.stop(grace_seconds=0)


# -- requests ----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def token(server):
    """Token of an account with all rights."""
    account = {"metadata": {"name": "client"}}
    assert (await server.request("POST", ACCOUNTS, body=json.dumps(account).encode())).code == 201
    binding = {
        "metadata": {"name": "client"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "client", "namespace": "default"}],
    }
    assert (await server.request("POST", BINDINGS, body=json.dumps(binding).encode())).code == 201
    answer = await server.request("POST", f"{ACCOUNTS}/client/token", body=b'{"spec":{}}')
    return answer.json()["status"]["token"]


@asynccontextmanager
async def connected(port: int, token: str, *, http2: bool) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {token}", "accept-encoding": "identity"}
    async with httpx.AsyncClient(
        http1=not http2, http2=http2, base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=HANG_SECONDS
    ) as client:
        yield client


JSON = {"content-type": "application/json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
MERGE = {"content-type": "application/merge-patch+json"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}'
REQUESTS: list[tuple[str, str, dict[str, str], bytes]] = [
    ("GET", "/version", {}, b""),
    ("HEAD", "/version", {}, b""),
    ("GET", "/api/v1", {}, b""),
    ("POST", CONFIGMAPS, JSON, BODY),
    ("POST", CONFIGMAPS, JSON, BODY),
    ("GET", f"{CONFIGMAPS}/a", {}, b""),
    ("HEAD", f"{CONFIGMAPS}/a", {}, b""),
    ("GET", f"{CONFIGMAPS}/a", TABLE, b""),
    ("GET", f"{CONFIGMAPS}/a?pretty=true", {"accept": "application/yaml"}, b""),
    ("GET", f"{CONFIGMAPS}/a", {"accept": "application/vnd.kubernetes.protobuf"}, b""),
    ("PATCH", f"{CONFIGMAPS}/a", MERGE, b'{"data":{"c":"d"}}'),
    ("PATCH", f"{CONFIGMAPS}/a?fieldManager=b&force=true", APPLY, BODY),
    ("PATCH", f"{CONFIGMAPS}/a", JSON, b"{}"),
    ("PUT", f"{CONFIGMAPS}/a", JSON, b'{"metadata":{"name":"b"}}'),
    (
        "POST",
        f"{CONFIGMAPS}?dryRun=All",
        {**JSON, "content-encoding": "gzip"},
        gzip.compress(BODY.replace(b'"a"', b'"z"')),
    ),
    ("GET", f"{CONFIGMAPS}?limit=1", {}, b""),
    ("GET", "/openapi/v2", {"accept-encoding": "gzip"}, b""),
    ("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=0&resourceVersion=x", {}, b""),
    ("GET", f"{CONFIGMAPS}/missing", {}, b""),
    ("GET", "/no/such/path", {}, b""),
    ("GET", f"{CONFIGMAPS}/a?timeout=5x", {}, b""),
    ("POST", "/version", JSON, b"{}"),
    ("POST", CONFIGMAPS, JSON, b"{"),
    ("POST", CONFIGMAPS, {"content-type": "text/html"}, b"x"),
    ("GET", "/api/v1/nodes", {"authorization": "Bearer wrong"}, b""),
    ("GET", "/api/v1/nodes", {"impersonate-user": "nobody"}, b""),
    ("GET", "/api/v1/namespaces/default/pods/a/exec?command=x", {}, b""),
    ("DELETE", f"{CONFIGMAPS}/a", {}, b""),
]
#: Different with each request.
VARIABLE = {"audit-id", "date"}


def common_parts(response: httpx.Response) -> tuple[Any, ...]:
    """Return what a response has in common with one to the same request."""
    headers = {name: value for name, value in response.headers.items() if name not in VARIABLE | {"connection"}}
    names = ("transfer-encoding", "content-length")  # HTTP/2 frames a body without either
    return response.status_code, {k: v for k, v in headers.items() if k not in names}, len(response.content) > 0


async def test_responses_to_the_same_requests_are_the_same_over_both_protocols(server, token):
    seen: dict[bool, list[tuple[Any, ...]]] = {}
    for http2 in (False, True):
        async with (
            listening(server, FakeClock(), http2=http2) as (_, port),
            connected(port, token, http2=http2) as client,
        ):
            responses = [
                await client.request(method, path, headers=headers, content=body)
                for method, path, headers, body in REQUESTS
            ]
        assert {response.http_version for response in responses} == {"HTTP/2" if http2 else "HTTP/1.1"}
        assert all(response.headers["audit-id"] and response.headers["date"] for response in responses)
        seen[http2] = [common_parts(response) for response in responses]
    for request, of_http1, of_http2 in zip(REQUESTS, seen[False], seen[True], strict=True):
        assert of_http2 == of_http1, request
    assert {code for code, *_ in seen[True]} >= {200, 201, 400, 401, 403, 404, 405, 409, 415}


async def test_bodies_that_exceed_the_windows_pass_in_both_directions(server, token):
    data = {f"k{number}": "x" * 50_000 for number in range(18)}
    body = json.dumps({"metadata": {"name": "large"}, "data": data}).encode()
    async with listening(server, FakeClock()) as (_, port), connected(port, token, http2=True) as client:
        responses = await asyncio.gather(
            client.post(CONFIGMAPS, content=body, headers=JSON),
            *(
                client.post(f"{CONFIGMAPS}?dryRun=All", content=body.replace(b"large", b"dry"), headers=JSON)
                for _ in range(3)
            ),
        )
        assert [response.status_code for response in responses] == [201] * 4
        lists = await asyncio.gather(*(client.get(CONFIGMAPS) for _ in range(4)))
    for response in lists:
        (stored,) = [item for item in response.json()["items"] if item["metadata"]["name"] == "large"]
        assert stored["data"] == data


async def test_watch_over_http2_streams_events_beside_requests_of_its_connection(server, token):
    async with (
        listening(server, FakeClock()) as (_, port),
        connected(port, token, http2=True) as client,
        client.stream("GET", f"{CONFIGMAPS}?watch=1") as response,
    ):
        lines = response.aiter_lines()
        assert response.status_code == 200
        for number in range(50):  # by the connection of the watch
            body = BODY.replace(b'"a"}', b'"a%d"}' % number)
            assert (await client.post(CONFIGMAPS, content=body, headers=JSON)).status_code == 201
        names: list[str] = []
        while not names or names[-1] != "a49":
            names.append(json.loads(await asyncio.wait_for(anext(lines), HANG_SECONDS))["object"]["metadata"]["name"])
        assert names[-50:] == [f"a{number}" for number in range(50)]
        assert server.core.app.busy == 1
    await wait_until(lambda: server.core.app.busy == 0)


# -- attacks -----------------------------------------------------------------------------------------------------------


class Attacker:
    """Connection of a client that sends frames of its own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        self.reader, self.writer, self.peer = reader, writer, Http2Peer()
        self._authorization = ("authorization", f"Bearer {token}")

    def request(self, method: str, path: str, *headers: tuple[str, str], ends: bool = True) -> bytes:
        return self.peer.headers(method, path, self._authorization, *headers, ends=ends)

    async def read_until(self, is_over: Callable[[], bool]) -> None:
        """Read frames until ``is_over``, or the server closes."""
        async with asyncio.timeout(HANG_SECONDS):
            while not is_over():
                try:
                    data = await self.reader.read(65536)
                except ConnectionResetError:
                    return
                if not data:
                    return
                self.peer.feed(data)

    async def read_to_the_end(self, clock: FakeClock) -> None:
        reading = asyncio.ensure_future(self.read_until(lambda: False))
        await advance_until(reading.done, clock)
        await reading


@pytest.fixture
async def attack(server, token):
    """Attacker, serving and clock."""
    clock = FakeClock()
    async with listening(server, clock) as (serving, port):
        await server.request("GET", CONFIGMAPS)
        before = asyncio.all_tasks()
        async with connected_to("127.0.0.1", port) as streams:
            yield Attacker(*streams, token), serving, clock
        await wait_until(lambda: not serving.connections)
        await wait_until(lambda: server.core.app.busy == 0)
        teardown = asyncio.current_task()
        await wait_until(lambda: asyncio.all_tasks() - {teardown} <= before)


async def test_rapid_resets_end_the_connection(server, attack):
    attacker, _, clock = attack
    peer = attacker.peer
    attacker.writer.write(peer.preface())
    for _ in range(20 * limits.STREAMS_MAX):
        number = peer.next_number
        attacker.writer.write(attacker.request("GET", f"{CONFIGMAPS}?watch=1") + peer.reset(number))
    await attacker.read_to_the_end(clock)
    assert peer.goaways[-1][1] == CALM
    assert server.core.app.busy == 0


async def test_watches_that_are_opened_and_reset_leave_nothing(server, attack):
    attacker, serving, _ = attack
    peer = attacker.peer
    attacker.writer.write(peer.preface())
    for _ in range(3):
        numbers = [peer.next_number + 2 * at for at in range(limits.STREAMS_MAX)]
        attacker.writer.write(b"".join(attacker.request("GET", f"{CONFIGMAPS}?watch=1") for _ in numbers))
        await attacker.read_until(lambda numbers=numbers: all(peer.stream(number).blocks for number in numbers))
        assert server.core.app.busy == limits.STREAMS_MAX
        attacker.writer.write(b"".join(peer.reset(number) for number in numbers))
        await wait_until(lambda: server.core.app.busy == 0)
    assert peer.goaways == []
    assert len(serving.connections) == 1


FLOODS: dict[str, Callable[[Http2Peer], bytes]] = {
    "PING": lambda peer: peer.ping() * 100_000,
    "SETTINGS": lambda peer: peer.change_settings({4: 1}) * 100_000,
    "WINDOW_UPDATE": lambda peer: peer.window_update(0, 1) * 100_000,
    "empty DATA": lambda peer: peer.headers("POST", CONFIGMAPS, ends=False) + peer.data(1, b"", ends=False) * 100_000,
    "CONTINUATION": lambda _: (
        HeadersFrame(1, data=b"").serialize() + ContinuationFrame(1, data=b"").serialize() * 100_000
    ),
    "headers": lambda peer: HeadersFrame(
        1, data=peer.encoder.encode([("a", "x" * 4000)]) + b"\xbe" * 10_000, flags=["END_HEADERS"]
    ).serialize(),
}


@pytest.mark.parametrize("name", FLOODS)
async def test_flood_of_frames_ends_the_connection(attack, name):
    attacker, _, clock = attack
    attacker.writer.write(attacker.peer.preface() + FLOODS[name](attacker.peer))
    await attacker.read_to_the_end(clock)
    assert attacker.peer.goaways[-1][1] == (PROTOCOL_ERROR if name == "CONTINUATION" else CALM)
    assert attacker.peer.settings_acks <= 2 * limits.CONTROL_FRAMES_BURST


async def test_body_that_stops_resets_its_stream_only(server, attack):
    attacker, _, clock = attack
    peer = attacker.peer
    attacker.writer.write(
        peer.preface() + attacker.request("POST", CONFIGMAPS, ("content-type", "application/json"), ends=False)
    )
    attacker.writer.write(peer.data(1, b"{", ends=False))
    await wait_until(lambda: server.core.app.busy == 1)
    await clock.advance(Timeouts().body)
    await attacker.read_until(lambda: peer.stream(1).reset is not None)
    assert peer.stream(1).reset == CANCEL
    attacker.writer.write(attacker.request("GET", "/version"))
    await attacker.read_until(lambda: peer.stream(3).is_ended)
    assert peer.stream(3).code == 200


async def test_stream_without_a_window_holds_one_part_of_the_response(server, attack):
    attacker, serving, clock = attack
    peer = attacker.peer
    large = json.dumps({"metadata": {"name": "large"}, "data": {"a": "x" * 500_000}}).encode()
    assert (await server.request("POST", CONFIGMAPS, body=large)).code == 201
    attacker.writer.write(peer.preface({4: 10}) + attacker.request("GET", f"{CONFIGMAPS}/large"))
    await attacker.read_until(lambda: peer.stream(1).body != b"")
    (connection,) = serving.connections
    assert len(connection._streams[1].response._unsent) <= WRITE_BYTES_MAX
    reading = asyncio.ensure_future(attacker.read_until(lambda: peer.stream(1).reset is not None))
    await advance_until(reading.done, clock)
    assert (len(peer.stream(1).body), peer.stream(1).reset) == (10, CANCEL)


async def test_watch_that_is_not_read_holds_one_part_and_delays_no_other_stream(server, attack):
    attacker, serving, _ = attack
    peer = attacker.peer
    attacker.writer.write(
        peer.preface() + peer.window_update(0, HUGE) + attacker.request("GET", f"{CONFIGMAPS}?watch=1")
    )
    await attacker.read_until(lambda: peer.stream(1).blocks != [])
    for number in range(20):
        large = json.dumps({"metadata": {"name": f"a{number}"}, "data": {"a": "x" * 20_000}}).encode()
        assert (await server.request("POST", CONFIGMAPS, body=large)).code == 201
    await attacker.read_until(lambda: len(peer.stream(1).body) >= 65_535)
    (connection,) = serving.connections
    assert len(connection._streams[1].response._unsent) <= WRITE_BYTES_MAX
    attacker.writer.write(attacker.request("GET", "/version"))
    await attacker.read_until(lambda: peer.stream(3).is_ended)
    assert (peer.stream(3).code, len(peer.stream(1).body)) == (200, 65_535)


async def test_client_that_reads_nothing_is_cut_off(server, attack):
    attacker, serving, clock = attack
    peer = attacker.peer
    large = json.dumps({"metadata": {"name": "large"}, "data": {"a": "x" * 900_000}}).encode()
    assert (await server.request("POST", CONFIGMAPS, body=large)).code == 201
    attacker.writer.write(peer.preface({4: HUGE}) + peer.window_update(0, HUGE))
    attacker.writer.write(b"".join(attacker.request("GET", f"{CONFIGMAPS}/large") for _ in range(limits.STREAMS_MAX)))
    await wait_until(lambda: any(connection.flow.write_paused for connection in serving.connections))
    await advance_until(lambda: not serving.connections, clock)
    assert clock.monotonic() <= 2 * Timeouts().write_stall + 10
