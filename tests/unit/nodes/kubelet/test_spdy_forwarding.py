"""Port forwarding over SPDY, on an upgraded connection and within a WebSocket."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.unit.nodes.kubelet.spdy_client import SpdyClient, upgraded
from tests.unit.nodes.kubelet.test_spdy_session import Pipe
from tests.unit.nodes.test_kubelet import POD, Host, echoing, kubelet

from steersman.asynckit.clock import FakeClock
from steersman.nodes.kubelet import spdy
from steersman.nodes.kubelet.port_forward import PortForwarder
from steersman.nodes.kubelet.spdy_forwarding import SpdyForwarding

FAILURE = b"error forwarding port 1 to pod p, uid u: nobody there"


@asynccontextmanager
async def forwarding():
    async with (
        kubelet(Host()) as session,
        upgraded(session._base_url.host, session._base_url.port, "/portForward/ns/p", "portforward.k8s.io") as client,
    ):
        yield client


def connect(client, first, port, kinds=("error", "data"), **headers):
    """Open a pair of streams."""
    for index, kind in enumerate(kinds):
        client.open(first + 2 * index, streamType=kind, port=str(port), **headers)


@pytest.mark.parametrize("kinds", [("error", "data"), ("data", "error")])
async def test_pair_of_streams_is_connected_in_either_order(kinds):
    async with echoing() as port, forwarding() as client:
        connect(client, 1, port, kinds, requestID="0")
        data = 1 + 2 * kinds.index("data")
        client.send(client.encoder.data(data, b"hello", last=True))
        await client.until(lambda: client.ended == {1, 3})
        assert dict(client.data) == {1: b"", 3: b"", data: b"hello"}


async def test_connections_of_old_clients_have_no_request_id():
    async with echoing() as port, forwarding() as client:
        connect(client, 1, port)
        connect(client, 5, port)
        client.send(client.encoder.data(7, b"b", last=True) + client.encoder.data(3, b"a", last=True))
        await client.until(lambda: client.ended == {1, 3, 5, 7})
        assert (client.data[3], client.data[7]) == (b"a", b"b")


async def test_failure_is_reported_on_the_error_stream_and_resets_both():
    async with forwarding() as client:
        connect(client, 1, 1, requestID="0")
        await client.until(lambda: len(client.reset) == 2)
        assert client.data[1] == FAILURE
        assert client.reset == {1: spdy.CANCEL, 3: spdy.CANCEL}


async def test_duplicate_stream_of_a_request_is_reset():
    async with forwarding() as client:
        connect(client, 1, 1, kinds=("error", "error"), requestID="0")
        await client.until(lambda: client.reset)
        assert client.data[1] == b"error processing stream for request 0: error stream already assigned"
        assert client.reset == {3: spdy.CANCEL}


@pytest.mark.parametrize(
    "headers",
    [
        {"streamType": "data"},
        {"port": "0", "streamType": "data"},
        {"port": "65536", "streamType": "data"},
        {"port": "x", "streamType": "data"},
        {"port": "80"},
        {"port": "80", "streamType": "other"},
    ],
)
async def test_stream_with_invalid_headers_is_reset(headers):
    async with forwarding() as client:
        client.open(1, **headers)
        await client.until(lambda: client.reset)
        assert (client.reset, client.replied) == ({1: spdy.CANCEL}, set())


async def test_reset_by_the_client_closes_the_connection_to_the_pod():
    closed = asyncio.Event()

    async def forward(self, port, receive, send):
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()

    forwarder = type("Forwarder", (), {"forward": forward})()
    pipe = Pipe()
    running = asyncio.create_task(SpdyForwarding(pipe, forwarder, clock=FakeClock()).run())
    client = SpdyClient(pipe, pipe)
    connect(client, 1, 80, requestID="0")
    await client.until(lambda: len(client.replied) == 2)
    client.send(client.encoder.reset(3, status=spdy.CANCEL))
    await closed.wait()
    pipe.abort()
    await running


async def test_incomplete_pair_expires_after_thirty_seconds():
    clock, pipe = FakeClock(), Pipe()
    running = asyncio.create_task(SpdyForwarding(pipe, PortForwarder(Host(), POD), clock=clock).run())
    client = SpdyClient(pipe, pipe)
    connect(client, 1, 80, kinds=("error",), requestID="7")
    await client.until(lambda: client.replied)
    await clock.advance(29)
    assert not client.reset
    await clock.advance(2)
    await client.until(lambda: client.reset)
    assert client.data[1] == b"(request=7) timed out waiting for streams"
    pipe.abort()
    await running
