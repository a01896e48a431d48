"""Pool of connections to one backend.

Bounds: ``OPEN_MAX`` connections, including watches; further requests fail at once. Up to ``IDLE_MAX`` connections stay
idle for ``IDLE_SECONDS``. A request without body that fails on a reused connection before any response is retried once
on a new one, as the backend may have just closed it; other requests are not retried, and reuse only connections idle
for less than ``FRESH_SECONDS``.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from steersman.apiserver.proxying.connections import DialError, exchange
from steersman.apiserver.webhooks.tls import HostNameError, verify_host

if TYPE_CHECKING:
    from steersman.apiserver.proxying.connections import Answer, Connections, Outgoing, Streams
    from steersman.apiserver.proxying.kubelet import Location
    from steersman.asynckit.clock import Clock

OPEN_MAX: Final = 512
IDLE_MAX: Final = 32
IDLE_SECONDS: Final = 90.0
FRESH_SECONDS: Final = 2.0
_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class ConnectionPool:
    """Connections with one TLS identity and one expected server name."""

    def __init__(
        self, connections: Connections, *, tls: ssl.SSLContext | None, server_hostname: str, clock: Clock
    ) -> None:
        self._connections: Final = connections
        self._tls: Final = tls
        self._server_hostname: Final = server_hostname
        self._clock: Final = clock
        #: By location; each with the time at which it became idle, oldest first.
        self._idle: dict[Location, list[tuple[float, Streams]]] = {}
        self._idle_count = 0
        self._open_count = 0
        self._is_closed = False

    @property
    def open_count(self) -> int:
        """Return the number of open connections, including idle ones."""
        return self._open_count

    async def round_trip(self, location: Location, sent: Outgoing) -> Answer:
        """Send a request and wait for the response head. ``location`` has no path. Raises ``DialError``."""
        is_repeatable = sent.method in _REPEATABLE and sent.stream is None and not sent.body
        idle = self._take(location, IDLE_SECONDS if is_repeatable else FRESH_SECONDS)
        if idle is not None:
            try:
                return await self._exchange(location, idle, sent)
            except DialError:
                if not is_repeatable:
                    raise
        return await self._exchange(location, await self._dial(location), sent)

    async def dial(self, location: Location) -> Streams:
        """Open a connection that the caller owns, for an upgrade. Raises ``DialError``."""
        streams = await self._connections.dial(location, self._tls, server_hostname=self._server_hostname)
        if self._tls is not None and self._tls.verify_mode is not ssl.CERT_NONE:
            try:
                verify_host(streams[1].get_extra_info("peercert") or {}, self._server_hostname)
            except HostNameError as error:
                streams[1].transport.abort()
                raise DialError(str(error)) from error
        return streams

    def close(self) -> None:
        """Close idle connections now, and others after their response."""
        self._is_closed = True
        while self._idle_count:
            self._drop_oldest()

    async def _dial(self, location: Location) -> Streams:
        while self._open_count >= OPEN_MAX and self._idle_count:
            self._drop_oldest()
        if self._open_count >= OPEN_MAX:
            raise DialError(f"dial tcp {location.authority}: {OPEN_MAX} connections are open")
        self._open_count += 1
        try:
            return await self.dial(location)
        except BaseException:
            self._open_count -= 1
            raise

    async def _exchange(self, location: Location, streams: Streams, sent: Outgoing) -> Answer:
        try:
            answer = await exchange(*streams, sent, location.authority)
        except BaseException:
            self._open_count -= 1
            raise
        answer.on_close = lambda is_reusable: self._give_back(location, streams, is_reusable=is_reusable)
        return answer

    def _give_back(self, location: Location, streams: Streams, *, is_reusable: bool) -> None:
        if not is_reusable or self._is_closed or streams[0].at_eof():
            self._abort(streams)
            return
        if self._idle_count >= IDLE_MAX:
            self._drop_oldest()
        self._idle.setdefault(location, []).append((self._clock.monotonic(), streams))
        self._idle_count += 1

    def _take(self, location: Location, age_max: float) -> Streams | None:
        """Return the most recently used idle connection if young enough; close expired ones."""
        now = self._clock.monotonic()
        idle = self._idle.get(location, [])
        while idle:
            since, streams = idle[-1]
            is_usable = now - since < IDLE_SECONDS and not streams[0].at_eof() and not streams[1].is_closing()
            if is_usable and now - since >= age_max:
                return None
            idle.pop()
            self._idle_count -= 1
            if not idle:
                del self._idle[location]
            if is_usable:
                return streams
            self._abort(streams)
        return None

    def _drop_oldest(self) -> None:
        location = min(self._idle, key=lambda candidate: self._idle[candidate][0][0])
        _, streams = self._idle[location].pop(0)
        self._idle_count -= 1
        if not self._idle[location]:
            del self._idle[location]
        self._abort(streams)

    def _abort(self, streams: Streams) -> None:
        self._open_count -= 1
        streams[1].transport.abort()
