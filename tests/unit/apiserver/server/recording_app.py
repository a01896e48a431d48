"""Application that records requests, for the tests of both versions of HTTP."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any


class RecordingApp(ABC):
    """Application that receives bodies (not under ``/ignore``). An entry of ``requests`` ends with the body, and how it ended."""

    def __init__(self) -> None:
        self.requests: list[list[Any]] = []
        #: Lets responses that wait go on.
        self.go = asyncio.Event()
        #: Lets bodies be received.
        self.takes_body = asyncio.Event()
        self.takes_body.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        entry = [*self.described(scope), b"", "open"]
        self.requests.append(entry)
        await self.takes_body.wait()
        if scope["path"] != "/ignore":
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    entry[-1] = "cut"
                    return
                entry[-2] += message["body"]
                if not message["more_body"]:
                    break
        entry[-1] = "complete"
        await self.respond(scope, entry, receive, send)

    def described(self, scope: Any) -> list[Any]:
        """Return the first items of an entry."""
        return [scope["method"], scope["path"]]

    @abstractmethod
    async def respond(self, scope: Any, entry: list[Any], receive: Any, send: Any) -> None:
        """Respond to a request whose body is received or ignored."""

    async def wait_for_disconnect(self, entry: list[Any], receive: Any) -> None:
        """Wait until the request is disconnected, and record that."""
        while (await receive())["type"] != "http.disconnect":
            pass
        entry[-1] = "gone"
