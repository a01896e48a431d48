"""In-process client."""

import pytest

from steersman.apiserver.server.loopback import Loopback


class Echo:
    """Application that echoes the request; ``/stream`` sends pieces until the client disconnects."""

    def __init__(self) -> None:
        self.gone = False

    async def __call__(self, scope, receive, send) -> None:
        message = await receive()
        await send({"type": "http.response.start", "status": 201, "headers": [(b"x-kind", b"echo")]})
        if scope["path"] == "/stream":
            await send({"type": "http.response.body", "body": b"one", "more_body": True})
            self.gone = (await receive())["type"] == "http.disconnect"
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
    assert echo.gone


async def test_application_without_response_raises():
    async def silent(scope, receive, send) -> None:
        del scope, receive, send

    with pytest.raises(ConnectionError):
        await Loopback(silent).request("GET", "/")  # type: ignore[arg-type]
