"""Reads from a lagging watch cache, as in a replica of an API server.

Upstream: ``Cacher.Get``, ``Cacher.GetList`` and ``waitUntilFreshAndBlock``. A read without ``resourceVersion`` is
consistent. With one it is served from the cache once the cache has reached it; ``0`` accepts any state.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

from steersman.apimachinery.errors import not_found
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.representation import render_object, render_status
from steersman.apiserver.generic.listing import EXACT
from steersman.apiserver.generic.watch_cache import REVISION_WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.http import Request, Response
    from steersman.asynckit.clock import Clock

    Message = MutableMapping[str, Any]
    Send = Callable[[Message], Awaitable[None]]

#: Maximum number of recorded commits.
_REVISIONS_MAX: Final = 10_000
#: Maximum number of delayed chunks of one watch; above it the sender waits, as for a slow connection.
_PIECES_MAX: Final = 1_000
#: Status codes of a GET that depend on the state of its object.
_STATE_CODES: Final = (200, 404)


class LaggingRead(NamedTuple):
    """Decision how a lagging watch cache serves a read."""

    #: Revision of the state then; 0: unknown, the current one.
    revision: int
    #: Time until the cache has the requested version.
    wait_seconds: float = 0.0
    #: Requested version that the cache does not reach in time; 0 if the read is served.
    missing: int = 0


class RevisionTimes:
    """Times of the latest commits."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        #: Monotonic time and revision, oldest first.
        self._commits: Final[deque[tuple[float, int]]] = deque(maxlen=_REVISIONS_MAX)

    def committed(self, revision: int) -> None:
        """Record a commit."""
        self._commits.append((self._clock.monotonic(), revision))

    def revision_before(self, seconds: float) -> int:
        """Return the revision of a given time ago; 0 if unknown."""
        limit = self._clock.monotonic() - seconds
        return max((revision for time, revision in self._commits if time <= limit), default=0)

    def seconds_until(self, revision: int, lag_seconds: float) -> float:
        """Return the time until a lagging cache has a revision; infinite if it is not committed."""
        times = [time for time, committed in self._commits if committed >= revision]
        return max(0.0, min(times, default=float("inf")) + lag_seconds - self._clock.monotonic())

    def read(self, query: bytes, lag_seconds: float) -> LaggingRead | None:
        """Return the decision for a GET or LIST; None if it is consistent, at an exact version, or invalid."""
        params = dict(parse_qsl(query.decode("latin-1")))
        version = params.get("resourceVersion", "")
        is_exact = params.get("resourceVersionMatch") == EXACT or (
            version != "0" and "limit" in params and "resourceVersionMatch" not in params
        )
        if not version.isdecimal() or is_exact or "continue" in params:
            return None
        state = self.revision_before(lag_seconds)
        if not state or int(version) <= state:
            return LaggingRead(state)
        wait = self.seconds_until(int(version), lag_seconds)
        if wait > REVISION_WAIT_SECONDS:
            return LaggingRead(state, REVISION_WAIT_SECONDS, int(version))
        return LaggingRead(int(version), wait)


def exact_query(query: bytes, revision: int) -> bytes:
    """Return the query of a list for the state at a revision. With resource version ``0`` a limit has no effect."""
    dropped = ("resourceVersion", "resourceVersionMatch")
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    is_any = ("resourceVersion", "0") in pairs
    parameters = [(name, value) for name, value in pairs if name not in dropped and not (is_any and name == "limit")]
    return urlencode([*parameters, ("resourceVersion", str(revision)), ("resourceVersionMatch", EXACT)]).encode()


async def earlier_response(registry: Registry, request: Request, response: Response, revision: int) -> Response:
    """Return the response to a GET with the object at a revision."""
    info = request.info
    served = registry.get(info.group, info.version, info.resource)
    if response.code not in _STATE_CODES or served is None or info.subresource not in ("", "status"):
        return response
    key = served.cache.key(info.namespace, info.name)
    entries, _ = await served.cache.snapshot_at(revision, key)
    entries = [entry for entry in entries if entry.key == key]
    if not entries:
        return render_status(request, not_found(served.resource.group_resource, info.name))
    if served.converter is not None:
        entries = await served.converter.entries(entries)
    return await render_object(served, request, entries[0], form=negotiate(request, is_custom=served.is_custom))


class LateWatch:
    """Connection of a watch that delays chunks, in order."""

    def __init__(self, send: Send, *, clock: Clock, lag: Callable[[], float]) -> None:
        """``lag`` returns the delay of a chunk in seconds."""
        self._send: Final = send
        self._clock: Final = clock
        self._lag: Final = lag
        self._pieces: Final[asyncio.Queue[tuple[float, Message]]] = asyncio.Queue(_PIECES_MAX)
        self._relay: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        """Send a chunk, possibly delayed. Raises the error of ``send`` for an earlier chunk."""
        lag = self._lag() if message["type"] == "http.response.body" and message.get("body") else 0.0
        if self._relay is None and not lag:
            await self._send(message)
            return
        if self._relay is None:
            self._relay = asyncio.get_running_loop().create_task(self._run(), name="late watch")
        elif self._relay.done():
            self._relay.result()
        await self._pieces.put((self._clock.monotonic() + lag, message))

    async def _run(self) -> None:
        while True:
            due, message = await self._pieces.get()
            wait = due - self._clock.monotonic()
            if wait > 0:
                await self._clock.sleep(wait)
            await self._send(message)

    async def close(self) -> None:
        """Drop the delayed chunks: the connection is closed."""
        if self._relay is not None:
            self._relay.cancel()
            await asyncio.wait([self._relay])
