"""An API server on the test's own event loop: no process, no socket, no files, and time that the test may step."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from steersman.apiserver.server.loopback import Answer, Exchange, Loopback
from steersman.asynckit.clock import RealClock
from steersman.controlplane.bootstrap.public_address import Place
from steersman.controlplane.core import ServerCore
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import APIServerOptions
from steersman.storage.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from steersman.asynckit.clock import Clock
    from steersman.storage.store import Store

_log = logging.getLogger(__name__)


class InProcessAPIServer:
    """Started when entered. Requests go through the whole filter chain, as the server itself (``system:masters``)."""

    def __init__(
        self,
        *,
        options: APIServerOptions | None = None,
        store: Store | None = None,
        clock: Clock | None = None,
        with_loops: bool = False,
    ) -> None:
        """``with_loops``: with the loops of a real server, too (the Service ``kubernetes``, repairs, elections …)."""
        self._clock = clock or RealClock()
        self.options = options or APIServerOptions(ephemeral=True)
        self.store = store or MemoryStore(clock=self._clock)
        self._with_loops = with_loops
        self.core: ServerCore

    async def __aenter__(self) -> Self:
        for warning in check_options(self.options):
            _log.warning("%s", warning)
        self.core = ServerCore(self.options, self.store, clock=self._clock, with_loops=self._with_loops)
        if self.core.loops is not None and (address := self.options.advertise_address):
            self.core.loops.place = Place(address, self.options.secure_port)
        await self.core.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.core.retire()
        self.core.begin_stop()
        await self.core.close()

    def open(
        self, method: str, target: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Exchange:
        """Begin a request; enter it for code and headers, iterate over it for the pieces of the body."""
        return self.core.client.open(method, target, body=body, headers=headers)

    async def request(
        self, method: str, target: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The whole answer."""
        return await self.core.client.request(method, target, body=body, headers=headers)

    def anonymous(self) -> Loopback:
        """A client without credentials; give it headers for others."""
        return Loopback(self.core.app)
