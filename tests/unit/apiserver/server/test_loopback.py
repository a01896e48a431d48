"""In-process client."""

import asyncio

import pytest

from steersman.apiserver.server.loopback import Loopback


class Echo:
    """Application that echoes the request; ``/stream`` sends pieces until the client disconnects."""

    def __init__(self) -> None:
        self.is_disconnected = False

    async def __call__(self, scope, receive, send) -> None:
        message = await receive()
        await send({"type": "http.response.start", "status": 201, "headers": [(b"x-kind", b"echo")]})
        if scope["path"] == "/stream":
            await send({"type": "http.response.body", "body": b"one", "more_body": True})
            self.is_disconnected = (await receive())["type"] == "http.disconnect"
            return
        text = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {dict(scope['headers']).get(b'a', b'').decode()} "
        await send({"type": "http.response.body", "body": text.encode() + message["body"]})


async def test_request_passes_method_path_query_headers_and_body():
    answer = await Loopback(Echo(), headers={"a": "b"}).request("POST", "/x%20y?q=1", body=b"hello")  # type: ignore[arg-type]
    assert (answer.code, answer.body, answer.header("X-Kind")) == (201, b"POST /x y q=1 b hello", "echo")


async def test_leaving_a_stream_disconnects():
    echo = Echo()
    async with Loopback(echo).open("GET", "/stream") as exchange:  # type: ignore[arg-type]
        async for piece in exchange:
            assert piece == b"one"
            break
    assert echo.is_disconnected


async def test_application_without_response_raises():
    async def silent(scope, receive, send) -> None:
        del scope, receive, send

    with pytest.raises(ConnectionError):
        await Loopback(silent).request("GET", "/")  # type: ignore[arg-type]


async def test_request_returns_the_pieces_of_a_response_as_one():
    async def piecewise(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one ", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})
        assert (await receive())["type"] == "http.request"
        assert (await receive())["type"] == "http.disconnect"

    assert (await Loopback(piecewise).request("GET", "/")).body == b"one two"  # type: ignore[arg-type]


async def test_request_raises_the_error_that_ends_a_response_early():
    async def broken(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        raise ConnectionResetError("connection reset by peer")

    with pytest.raises(ConnectionResetError, match="reset by peer"):
        await Loopback(broken).request("GET", "/")  # type: ignore[arg-type]


async def test_request_returns_a_response_after_which_the_connection_breaks():
    async def broken(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"all"})
        raise ConnectionResetError("connection reset by peer")

    assert (await Loopback(broken).request("GET", "/")).body == b"all"  # type: ignore[arg-type]


async def test_cancelled_request_disconnects_and_waits_for_the_application():
    echo, sent = Echo(), asyncio.Event()

    async def app(scope, receive, send) -> None:
        async def notify(message) -> None:
            await send(message)
            if message.get("more_body"):
                sent.set()

        await echo(scope, receive, notify)

    request = asyncio.create_task(Loopback(app).request("GET", "/stream"))  # type: ignore[arg-type]
    await sent.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert echo.is_disconnected
