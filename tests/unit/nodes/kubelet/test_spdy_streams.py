"""Exec and attach over SPDY, against the kubelet server with an echoing host."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.unit.nodes.kubelet.spdy_client import upgraded
from tests.unit.nodes.kubelet.test_spdy_session import Pipe
from tests.unit.nodes.test_kubelet import Host, kubelet

from steersman.asynckit.clock import FakeClock
from steersman.nodes.kubelet import spdy
from steersman.nodes.kubelet.spdy_streams import V1, V2, V3, V4, SpdyStreams

SUCCESS = {"metadata": {}, "status": "Success"}


@asynccontextmanager
async def streams(path, *names, protocol=V4, host=None):
    """Open the named streams; yield the client and the streams' IDs."""
    async with (
        kubelet(host or Host()) as session,
        upgraded(session._base_url.host, session._base_url.port, path, protocol) as client,
    ):
        ids = {name: 2 * index + 1 for index, name in enumerate(names)}
        for name, stream in ids.items():
            client.open(stream, streamType=name)
        yield client, ids


async def test_exec_streams_input_and_output():
    path = "/exec/ns/p/c?command=a&command=b&input=1&output=1&error=1"
    async with streams(path, "error", "stdin", "stdout", "stderr") as (client, ids):
        client.send(client.encoder.data(ids["stdin"], b"x" * 100_000))
        client.send(client.encoder.data(ids["stdin"], b"", last=True))
        ended = {ids[name] for name in ("error", "stdout", "stderr")}
        await client.until(lambda: client.ended == ended)
        assert client.data[ids["stdout"]] == b"x" * 100_000
        assert client.data[ids["stderr"]] == b"a b"
        assert client.status(ids["error"]) == SUCCESS
        # Further input is dropped, and the server waits for the client to close.
        assert client.reset == {ids["stdin"]: spdy.CANCEL}
        client.send(client.encoder.ping(1))
        await client.until(lambda: client.pings)
        assert not client.has_ended


async def test_exec_with_tty_receives_sizes_and_merges_output():
    path = "/exec/ns/p/c?command=a&output=1&error=1&tty=1"
    async with streams(path, "error", "stdout", "resize", host=(host := Host())) as (client, ids):
        client.send(client.encoder.data(ids["resize"], b'{"Width":80,'))
        client.send(client.encoder.data(ids["resize"], b'"Height":24}\n'))
        await client.until(lambda: ids["error"] in client.ended)
        assert client.data[ids["stdout"]] == b"a"
    assert [(size.width, size.height) for size in host.sizes] == [(80, 24)]


@pytest.mark.parametrize(
    ("command", "reason", "cause"),
    [
        ("fails", "NonZeroExitCode", {"reason": "ExitCode", "message": "3"}),
        ("none", "InternalError", {"message": "not found"}),
    ],
)
async def test_exec_ends_with_a_status(command, reason, cause):
    async with streams(f"/exec/ns/p/c?command={command}&output=1", "error", "stdout") as (client, ids):
        await client.until(lambda: ids["error"] in client.ended)
        status = client.status(ids["error"])
        assert (status["status"], status["reason"], status["details"]["causes"]) == ("Failure", reason, [cause])


@pytest.mark.parametrize("protocol", [V2, V3])
async def test_exec_before_version_4_reports_failures_as_text(protocol):
    async with streams("/exec/ns/p/c?command=fails&output=1", "error", "stdout", protocol=protocol) as (client, ids):
        await client.until(lambda: ids["error"] in client.ended)
        assert client.data[ids["error"]] == b"command terminated with non-zero exit code: exit status 3"
    async with streams("/exec/ns/p/c?command=a&output=1", "error", "stdout", protocol=protocol) as (client, ids):
        await client.until(lambda: ids["error"] in client.ended)
        assert client.data[ids["error"]] == b""


async def test_exec_in_version_1_resets_the_error_stream():
    path = "/exec/ns/p/c?command=a&input=1&output=1"
    async with streams(path, "error", "stdin", "stdout", protocol=V1) as (client, ids):
        client.send(client.encoder.data(ids["stdin"], b"hello", last=True))
        await client.until(lambda: ids["stdout"] in client.ended)
        assert client.data[ids["stdout"]] == b"hello"
        assert client.reset == {ids["error"]: spdy.CANCEL}


async def test_exec_does_not_expect_sizes_before_version_3():
    path = "/exec/ns/p/c?command=none&output=1&tty=1"
    async with streams(path, "error", "stdout", protocol=V2) as (client, ids):
        await client.until(lambda: ids["error"] in client.ended)
        assert client.data[ids["error"]] == b"Internal error occurred: not found"


async def test_unexpected_and_duplicate_streams_are_reset():
    names = ("error", "stdin", "stdout", "other")
    async with streams("/exec/ns/p/c?command=a&output=1&error=1", *names) as (client, ids):
        client.open(101, streamType="stdout")
        client.open(103, streamType="stderr")
        await client.until(lambda: ids["error"] in client.ended)
        assert client.reset == {ids["stdin"]: spdy.CANCEL, ids["other"]: spdy.CANCEL, 101: spdy.CANCEL}


async def test_attach_uses_the_hosts_attach():
    async with streams("/attach/ns/p/c?output=1", "error", "stdout") as (client, ids):
        await client.until(lambda: ids["error"] in client.ended)
        assert client.data[ids["stdout"]] == b"attached"


async def test_goaway_ends_the_command():
    async with streams("/exec/ns/p/c?command=a&input=1&output=1", "error", "stdin", "stdout") as (client, _):
        await client.until(lambda: len(client.replied) == 3)
        client.send(client.encoder.goaway(0))
        await client.until(lambda: False)
        assert client.has_ended


async def test_streams_must_be_created_within_thirty_seconds():
    clock, pipe = FakeClock(), Pipe()
    command = SpdyStreams(pipe, V4, stdin=True, stdout=True, stderr=True, tty=False, clock=clock)
    opening = asyncio.create_task(command.open())
    await clock.advance(29)
    assert not opening.done()
    await clock.advance(2)
    assert await opening is False


async def test_finished_command_waits_at_most_fifteen_minutes_for_the_client():
    clock, pipe = FakeClock(), Pipe()
    command = SpdyStreams(pipe, V4, stdin=False, stdout=True, stderr=False, tty=False, clock=clock)
    listening = asyncio.create_task(command.listen())
    encoder = spdy.Writer()
    pipe.write(encoder.stream(1, {"streamType": "error"}) + encoder.stream(3, {"streamType": "stdout"}))
    assert await command.open()
    ending = asyncio.create_task(command.end(0))
    await clock.advance(15 * 60 - 1)
    assert not ending.done()
    await clock.advance(2)
    await ending
    pipe.abort()
    await listening
