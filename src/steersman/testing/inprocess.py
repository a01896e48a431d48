"""API server on the test's event loop: no process, socket or files, and an optional ``FakeClock``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Self

from steersman.apiserver.server.loopback import Answer, Exchange, Loopback
from steersman.asynckit.clock import RealClock
from steersman.controlplane.bootstrap.public_address import PublicEndpoint
from steersman.controlplane.core import ServerCore
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import APIServerOptions
from steersman.storage.memory import MemoryStore
from steersman.testing.bootstrap_snapshots import BootstrapSnapshots

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from steersman.asynckit.clock import Clock
    from steersman.storage.store import Store

_log = logging.getLogger(__name__)

_snapshots: Final = BootstrapSnapshots()


class InProcessAPIServer:
    """API server that runs inside ``async with``. Requests pass the whole filter chain as the server's own user.

    That user is in ``system:masters``. Without a ``store`` and the bootstrap controller it starts with a copy of the initial
    objects of an earlier server with equal options in this process.
    """

    def __init__(
        self,
        *,
        options: APIServerOptions | None = None,
        store: Store | None = None,
        clock: Clock | None = None,
        with_bootstrap_controller: bool = False,
    ) -> None:
        """``with_bootstrap_controller``: also run the server's loops (Service ``kubernetes``, repairs, elections …)."""
        self._clock = clock or RealClock()
        self.options = options or APIServerOptions(ephemeral=True)
        #: Set if the store is empty.
        self._new_store: MemoryStore | None = None
        if store is None:
            store = self._new_store = MemoryStore(clock=self._clock)
        self.store = store
        self._with_bootstrap_controller = with_bootstrap_controller
        self.core: ServerCore

    async def __aenter__(self) -> Self:
        for warning in check_options(self.options):
            _log.warning("%s", warning)
        self.core = ServerCore(
            self.options,
            self.store,
            clock=self._clock,
            with_bootstrap_controller=self._with_bootstrap_controller,
        )
        if self.core.bootstrap is not None and (address := self.options.advertise_address):
            self.core.bootstrap.public_endpoint = PublicEndpoint(address, self.options.secure_port)
        try:
            await self._start()
        except BaseException:
            await self.core.close()
            raise
        return self

    async def _start(self) -> None:
        store, now = self._new_store, self._clock.now()
        if store is None or self._with_bootstrap_controller:
            await self.core.start()
        elif (dump := _snapshots.get(self.options, now=now)) is not None:
            store.load(dump)
            await self.core.start()
        else:
            await self.core.start()
            _snapshots.add(self.options, store.dump(), now=now)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.core.begin_shutdown()
        await self.core.run_pre_shutdown_hooks()
        self.core.end_watches()
        await self.core.close()

    def open(
        self, method: str, target: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Exchange:
        """Open a streamed request; entering waits for status and headers, iteration yields the chunks of the body."""
        return self.core.client.open(method, target, body=body, headers=headers)

    async def request(
        self, method: str, target: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the whole response."""
        return await self.core.client.request(method, target, body=body, headers=headers)

    def anonymous(self) -> Loopback:
        """Return a client without credentials; pass headers to authenticate."""
        return Loopback(self.core.app)
