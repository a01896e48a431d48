"""Calls against servers of grpcio, an independent implementation."""

from __future__ import annotations

import asyncio
import gc
import ssl
from datetime import timedelta

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.certificates import make_ca, make_server
from steersman.asynckit.clock import FakeClock, RealClock
from steersman.grpc.channel import Channel, Target
from steersman.grpc.errors import Code, RpcError

grpc = pytest.importorskip("grpc", reason="the dev extra is not installed")


class Service:
    """Handlers of the methods of ``/test/``."""

    def __init__(self):
        self.metadata = []
        self.waiting = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def echo(self, request, context):
        self.metadata.append(dict(context.invocation_metadata()))
        return request

    async def fail(self, request, context):
        await context.abort(grpc.StatusCode.OUT_OF_RANGE, request.decode())

    async def hang(self, request, context):
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    async def double(self, requests, context):
        async for request in requests:
            if request == b"end":
                return
            yield request
            yield request

    def handlers(self):
        unary = {name: grpc.unary_unary_rpc_method_handler(getattr(self, name)) for name in ("echo", "fail", "hang")}
        return grpc.method_handlers_generic_handler(
            "test", {**unary, "double": grpc.stream_stream_rpc_method_handler(self.double)}
        )


async def serve(service, address, *, credentials=None, options=()):
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1), *options])
    server.add_generic_rpc_handlers((service.handlers(),))
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    await server.start()
    return server, port


@pytest.fixture
def service():
    return Service()


@pytest.fixture
async def port(service):
    server, port = await serve(service, "127.0.0.1:0")
    yield port
    await server.stop(None)


@pytest.fixture
async def channel(port):
    channel = Channel(Target("127.0.0.1", port), clock=RealClock())
    yield channel
    await channel.close()


async def call(channel, method, request=b"", *, seconds=HANG_SECONDS):
    return await channel.unary(f"/test/{method}", request, timeout_seconds=seconds)


async def test_unary_calls_return_their_responses_concurrently(channel, service):
    requests = [b"%d" % number * number for number in range(100)]
    assert await asyncio.gather(*(call(channel, "echo", request) for request in requests)) == requests
    assert service.metadata[0]["user-agent"] == "steersman"


async def test_messages_larger_than_all_windows_arrive(channel):
    large = bytes(range(256)) * 40_000
    small = [call(channel, "echo", b"%d" % number) for number in range(20)]
    answers = await asyncio.gather(call(channel, "echo", large), *small, call(channel, "echo", large))
    assert answers == [large, *(b"%d" % number for number in range(20)), large]


async def test_error_has_the_servers_code_and_text(channel):
    for text in ("required revision", "50 % of größe\n"):
        with pytest.raises(RpcError) as raised:
            await call(channel, "fail", text.encode())
        assert (raised.value.code, raised.value.details) == (Code.OUT_OF_RANGE, text)
    assert await call(channel, "echo", b"still works") == b"still works"


async def test_unknown_method_is_unimplemented(channel):
    with pytest.raises(RpcError) as raised:
        await call(channel, "none")
    assert raised.value.code is Code.UNIMPLEMENTED


async def test_cancelled_caller_cancels_the_call_at_the_server(channel, service):
    task = asyncio.ensure_future(call(channel, "hang"))
    await service.waiting.wait()
    task.cancel()
    async with asyncio.timeout(HANG_SECONDS):
        await service.cancelled.wait()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_deadline_ends_a_call(port, service):
    clock = FakeClock()
    channel = Channel(Target("127.0.0.1", port), clock=clock)
    task = asyncio.ensure_future(call(channel, "hang", seconds=5.0))  # before a ping is due
    await service.waiting.wait()
    await clock.advance(5.0)
    with pytest.raises(RpcError) as raised:
        await task
    assert (raised.value.code, raised.value.is_unsent) == (Code.DEADLINE_EXCEEDED, False)
    await channel.close()


async def test_calls_expire_at_their_own_deadlines(port, service):
    clock = FakeClock()
    channel = Channel(Target("127.0.0.1", port), clock=clock)
    first = asyncio.ensure_future(call(channel, "hang", seconds=5.0))
    await service.waiting.wait()
    await clock.advance(2.0)
    service.waiting.clear()
    second = asyncio.ensure_future(call(channel, "hang", seconds=5.0))
    await service.waiting.wait()
    await clock.advance(3.0)
    with pytest.raises(RpcError, match="Deadline Exceeded"):
        await first
    assert not second.done()
    await clock.advance(2.0)
    with pytest.raises(RpcError, match="Deadline Exceeded"):
        await second
    await channel.close()


async def test_stream_carries_messages_both_ways_until_the_server_ends_it(channel):
    stream = await channel.open_stream("/test/double", b"0", timeout_seconds=HANG_SECONDS)
    received = []
    for number in range(1, 50):
        received += [await stream.read(), await stream.read()]
        stream.send(b"%d" % number)
    received += [await stream.read(), await stream.read()]
    assert received == [b"%d" % number for number in range(50) for _ in range(2)]
    stream.send(b"end")
    assert await stream.read() is None


async def test_stream_delivers_messages_that_are_larger_than_its_window(channel):
    large = bytes(range(256)) * 40_000
    stream = await channel.open_stream("/test/double", large, timeout_seconds=HANG_SECONDS)
    assert await call(channel, "echo", b"beside") == b"beside"
    assert [await stream.read(), await stream.read()] == [large, large]
    stream.cancel()


async def test_cancelled_stream_ends_its_reader(channel):
    stream = await channel.open_stream("/test/double", b"0", timeout_seconds=HANG_SECONDS)
    assert [await stream.read(), await stream.read()] == [b"0", b"0"]
    reading = asyncio.ensure_future(stream.read())
    await call(channel, "echo")
    stream.cancel()
    assert await reading is None


async def test_calls_beyond_the_servers_stream_limit_wait(service):
    server, port = await serve(service, "127.0.0.1:0", options=[("grpc.max_concurrent_streams", 2)])
    channel = Channel(Target("127.0.0.1", port), clock=RealClock())
    hanging = asyncio.ensure_future(call(channel, "hang"))
    await service.waiting.wait()
    requests = [b"%d" % number for number in range(20)]

    async def echo(request):
        # The server counts a stream until its own side has ended it, which may be after the response has arrived.
        while True:
            try:
                return await call(channel, "echo", request)
            except RpcError as error:
                if not error.is_unsent:
                    raise

    assert await asyncio.gather(*map(echo, requests)) == requests
    hanging.cancel()
    await channel.close()
    await server.stop(None)


async def test_refused_connection_leaves_nothing_for_the_exception_handler():
    contexts = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: contexts.append(context))
    channel = Channel(Target("127.0.0.1", 1), clock=FakeClock())
    with pytest.raises(RpcError, match="failed to connect"):
        await call(channel, "echo")
    await channel.close()
    gc.collect()
    assert contexts == []


async def test_refused_connection_is_unsent_and_retried_after_a_pause():
    clock = FakeClock()
    channel = Channel(Target("127.0.0.1", 1), clock=clock)
    for _ in range(3):  # the later ones within the pause
        with pytest.raises(RpcError, match=r"failed to connect to 127\.0\.0\.1:1: ") as raised:
            await call(channel, "echo")
        assert (raised.value.code, raised.value.is_unsent) == (Code.UNAVAILABLE, True)
    await channel.close()


async def test_server_that_stops_fails_its_calls_and_one_that_returns_is_used_again(service, tmp_path):
    address = f"unix:{tmp_path}/s.sock"
    server, _ = await serve(service, address)
    channel = Channel(Target(path=f"{tmp_path}/s.sock"), clock=RealClock())
    hanging = asyncio.ensure_future(call(channel, "hang"))
    await service.waiting.wait()
    await server.stop(0)
    with pytest.raises(RpcError) as raised:
        await hanging
    assert not raised.value.is_unsent
    server, _ = await serve(service, address)
    refused = []
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            try:
                answer = await call(channel, "echo", b"again")
                break
            except RpcError as error:
                refused.append(error.is_unsent)
                await RealClock().sleep(0.01)
    assert answer == b"again"
    assert all(refused)
    await channel.close()
    await server.stop(None)


async def test_closed_channel_fails_calls(channel, service):
    hanging = asyncio.ensure_future(call(channel, "hang"))
    await service.waiting.wait()
    await channel.close()
    for pending in (hanging, call(channel, "echo")):
        with pytest.raises(RpcError) as raised:
            await pending
        assert raised.value.code is Code.CANCELLED


async def test_tls_verifies_the_server(service):
    now, life = RealClock().now(), timedelta(days=1)
    ca, other = make_ca("ca", now=now, life=life), make_ca("other", now=now, life=life)
    pair = make_server("server", ["127.0.0.1"], ca, now=now, life=life)
    server, port = await serve(
        service,
        "127.0.0.1:0",
        credentials=grpc.ssl_server_credentials([(pair.key, pair.certificate)]),
    )
    for authority, is_trusted in ((ca, True), (other, False)):
        context = ssl.create_default_context(cadata=authority.certificate.decode())
        context.set_alpn_protocols(["h2"])
        channel = Channel(Target("127.0.0.1", port), clock=RealClock(), tls=lambda context=context: context)
        if is_trusted:
            assert await call(channel, "echo", b"secret") == b"secret"
        else:
            with pytest.raises(RpcError, match="certificate verify failed"):
                await call(channel, "echo", b"secret")
        await channel.close()
    await server.stop(None)
