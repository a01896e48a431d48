"""Connections of a simulated process to the API server, which break with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.testing.application import ClusterApplication, Message, Receive, Send

#: Key of the ``Link`` of a request in the ASGI scope.
LINK_KEY: Final = "steersman.testing.link"


class Link:
    """ASGI application in front of ``ClusterApplication`` for one process, with latency and random faults."""

    def __init__(self, app: ClusterApplication) -> None:
        self._app = app
        self._is_cut = False

    async def serve(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request. Raises ``ConnectionError`` after ``cut``."""
        if self._is_cut:
            raise ConnectionRefusedError("the process has ended")
        scope[LINK_KEY] = self
        await self._app(scope, receive, send)

    def cut(self) -> None:
        """Break all connections permanently. Idempotent."""
        self._is_cut = True
        for request in self._app.open_requests:
            if request.link is self:
                request.abort()
