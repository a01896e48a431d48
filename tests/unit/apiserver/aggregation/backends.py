"""HTTPS server of an aggregated API server for tests, on the test's own event loop, and APIServices for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.webhooks.servers import ca_bundle, server_tls
from tests.unit.listening import hang_up, listening

from steersman.testing import InProcessAPIServer

SERVICES = "/api/v1/namespaces/default/services"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAME = "v1.things.example.com"
PATH = "/apis/things.example.com/v1"
HOST = "backend.default.svc"
RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": "things.example.com/v1",
    "resources": [
        {"name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": ["get", "list"]},
        {"name": "things/status", "singularName": "", "namespaced": True, "kind": "Thing", "verbs": ["get"]},
    ],
}


class Seen(NamedTuple):
    method: str
    target: str
    #: Names in lower case; values of repeated headers in order.
    headers: dict[str, list[str]]
    body: bytes


#: None closes the connection.
Respond = Callable[[Seen], Awaitable[bytes | None]]


def response(body: Any, *, status: int = 200, kind: str = "application/json", headers: str = "") -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n{headers}\r\n"
    return head.encode() + text


async def things(seen: Seen) -> bytes:
    """Serve discovery, and the request itself as JSON otherwise."""
    if seen.target == PATH:
        return response(RESOURCES)
    if seen.target == "/apis":
        return response({}, status=404)
    return response({"method": seen.method, "target": seen.target, "body": seen.body.decode()})


class Backend:
    """Requests that the server received."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.seen: list[Seen] = []
        self.connections = 0
        self.port = 0

    def last(self, target: str) -> Seen:
        return next(seen for seen in reversed(self.seen) if seen.target == target)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, target, _ = lines[0].split(" ")
            headers: dict[str, list[str]] = {}
            for line in filter(None, lines[1:]):
                name, _, value = line.partition(":")
                headers.setdefault(name.lower(), []).append(value.strip())
            body = b""
            if "transfer-encoding" in headers:
                while size := int(await reader.readline(), 16):
                    body += (await reader.readexactly(size + 2))[:-2]
                await reader.readline()
            elif "content-length" in headers:
                body = await reader.readexactly(int(headers["content-length"][0]))
            seen = Seen(method, target, headers, body)
            self.seen.append(seen)
            answer = await self.respond(seen)
            if answer is None:
                await hang_up(writer)
                return
            writer.write(answer)
            await writer.drain()
            if "upgrade" in headers:
                writer.write(await reader.readexactly(4))
                await writer.drain()


@asynccontextmanager
async def backend(respond: Respond = things, *, host: str = HOST) -> AsyncIterator[Backend]:
    new_backend = Backend(respond)
    async with listening(new_backend.serve, tls=server_tls((host,))) as new_backend.port:
        yield new_backend


async def post(server: InProcessAPIServer, path: str, tree: Any) -> None:
    answer = await server.request("POST", path, body=json.dumps(tree).encode())
    assert answer.code == 201, answer.body


async def register(server: InProcessAPIServer, port: int, *, name: str = NAME, **spec: Any) -> None:
    """Register a backend on this machine through a Service of type ExternalName."""
    service = {"type": "ExternalName", "externalName": "localhost"}
    if (await server.request("GET", f"{SERVICES}/backend")).code == 404:
        await post(server, SERVICES, {"metadata": {"name": "backend"}, "spec": service})
    version, _, group = name.partition(".")
    whole = {
        "group": group,
        "version": version,
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "service": {"namespace": "default", "name": "backend", "port": port},
        **({} if spec.get("insecureSkipTLSVerify") else {"caBundle": ca_bundle()}),
        **spec,
    }
    tree = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name}, "spec": whole}
    await post(server, API_SERVICES, tree)


async def condition(server: InProcessAPIServer, reason: str, *, name: str = NAME) -> Any:
    """Wait for the condition ``Available`` with a reason."""
    query = f"watch=true&resourceVersion=0&fieldSelector=metadata.name%3D{name}"
    waiting = b""
    async with asyncio.timeout(HANG_SECONDS), server.open("GET", f"{API_SERVICES}?{query}") as watch:
        async for piece in watch:
            *lines, waiting = (waiting + piece).split(b"\n")
            for line in lines:
                for item in (json.loads(line)["object"].get("status") or {}).get("conditions") or ():
                    if item["reason"] == reason:
                        return item
    raise AssertionError("the watch ended")
