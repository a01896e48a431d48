"""Cache of token reviews: of successes and rejections, not of errors; concurrent reviews of a token share one.

Upstream: staging/src/k8s.io/apiserver/pkg/authentication/token/cache/cached_token_authenticator.go
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from steersman.apimachinery.label_sets import count, observe
from steersman.apiserver.authn.interface import InvalidCredentials, Reviewed
from steersman.asynckit.timeouts import Timeout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.histogram import Histogram
    from steersman.apiserver.request import UserInfo
    from steersman.asynckit.clock import Clock
    from steersman.asynckit.tasks import Supervisor

#: Maximum number of cached successes, and of cached rejections; the oldest is evicted.
ENTRIES_MAX: Final = 4096
#: Upstream's ``sharedLookupTimeout``.
_LOOKUP_SECONDS: Final = 30.0
_KEY_BYTES: Final = 32
#: Upstream: ``DefBuckets`` of Prometheus.
_BUCKETS_SECONDS: Final[tuple[float, ...]] = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Reviewer(Protocol):
    """Reviews tokens without a cache."""

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Return the user; None for rejected tokens. Raises ``InvalidCredentials``, which is not cached."""


class TokenCacheMetrics:
    """Counters of one cache. Upstream: ``stats.go``."""

    def __init__(self) -> None:
        #: Requests by status: ``hit``, ``miss``.
        self.requests: Final[dict[tuple[str], Histogram]] = {}
        #: Finished reviews by status: ``ok``, ``error``.
        self.fetches: Final[dict[tuple[str], int]] = {}
        #: Current number of reviews, and of requests that wait for one.
        self.in_flight = 0
        self.blocked = 0

    def requested(self, status: str, seconds: float) -> None:
        """Count a request for a token's user."""
        observe(self.requests, (status,), seconds, _BUCKETS_SECONDS)

    def fetched(self, status: str) -> None:
        """Count a finished review."""
        count(self.fetches, (status,))


class _Record(NamedTuple):
    """Result of a review; ``expires`` in monotonic seconds."""

    reviewed: Reviewed | None
    error: str = ""
    expires: float = 0.0


class CachedTokens:
    """Token authenticator that caches the results of a reviewer by token and audiences.

    Keys are keyed hashes, so that tokens are not kept in memory.
    """

    def __init__(
        self,
        reviewer: Reviewer,
        *,
        audiences: Sequence[str],
        ttl_seconds: float,
        clock: Clock,
        tasks: Supervisor,
        metrics: TokenCacheMetrics,
        entries_max: int = ENTRIES_MAX,
    ) -> None:
        """``audiences``: of this server, for which requests are authenticated. ``tasks`` owns running reviews.

        Without a positive ``ttl_seconds`` only concurrent reviews are shared.
        """
        self._reviewer: Final = reviewer
        self._audiences: Final = tuple(audiences)
        self._ttl_seconds: Final = ttl_seconds
        self._clock: Final = clock
        self._tasks: Final = tasks
        self._metrics: Final = metrics
        self._entries_max: Final = entries_max
        self._secret: Final = secrets.token_bytes(_KEY_BYTES)
        #: Each oldest first: rejected tokens, which anyone can send, do not evict those of users.
        self._accepted: Final[dict[bytes, _Record]] = {}
        self._rejected: Final[dict[bytes, _Record]] = {}
        self._running: Final[dict[bytes, asyncio.Task[_Record]]] = {}

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """Return the user; None for rejected tokens. Raises ``InvalidCredentials``."""
        reviewed = await self.review(token, self._audiences)
        return None if reviewed is None else reviewed.user

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Review a token for one of these audiences. Raises ``InvalidCredentials``."""
        started = self._clock.monotonic()
        key = self._key(token, audiences)
        record = self._cached(key, started)
        if record is not None:
            self._metrics.requested("hit", self._clock.monotonic() - started)
            return record.reviewed
        self._metrics.blocked += 1
        try:
            record = await asyncio.shield(self._lookup(key, token, audiences))
        finally:
            self._metrics.blocked -= 1
            self._metrics.requested("miss", self._clock.monotonic() - started)
        if record.error:
            raise InvalidCredentials(record.error)
        return record.reviewed

    def _cached(self, key: bytes, now: float) -> _Record | None:
        record = self._accepted.get(key) or self._rejected.get(key)
        return record if record is not None and now < record.expires else None

    def _lookup(self, key: bytes, token: str, audiences: Sequence[str]) -> asyncio.Task[_Record]:
        """Return the running review of the token, started if there is none."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = self._tasks.start("token review", self._fetch(key, token, audiences))
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return task

    async def _fetch(self, key: bytes, token: str, audiences: Sequence[str]) -> _Record:
        self._metrics.in_flight += 1
        try:
            async with Timeout(_LOOKUP_SECONDS, clock=self._clock):
                record = _Record(await self._reviewer.review(token, audiences))
        except InvalidCredentials as error:
            record = _Record(None, str(error))
        except TimeoutError:
            record = _Record(None, "context deadline exceeded")
        finally:
            self._metrics.in_flight -= 1
        self._metrics.fetched("error" if record.error else "ok")
        if not record.error and self._ttl_seconds > 0:
            self._add(key, record)
        return record

    def _add(self, key: bytes, record: _Record) -> None:
        now = self._clock.monotonic()
        table = self._rejected if record.reviewed is None else self._accepted
        for other in (self._accepted, self._rejected):
            other.pop(key, None)
        while table and (next(iter(table.values())).expires <= now or len(table) >= self._entries_max):
            del table[next(iter(table))]
        table[key] = record._replace(expires=now + self._ttl_seconds)

    def _key(self, token: str, audiences: Sequence[str]) -> bytes:
        parts: tuple[Any, ...] = (token, *audiences)
        digest = hashlib.blake2b(key=self._secret)
        for part in parts:
            text = part.encode("utf-8", "surrogateescape")
            digest.update(len(text).to_bytes(8, "big"))
            digest.update(text)
        return digest.digest()
