"""One way out for all requests: rate limit, time bound, retries, metrics, warnings.

Retries are client-go's (``rest.WithRetry``): an answer of 429 or 5xx that says when to come again (``Retry-After``) was
not acted on, whatever its verb; a broken connection is tried again at once only where the request cannot have had
effect: reads, and writes that were never sent.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from steersman.asynckit.timeouts import Timeout
from steersman.client.actions import ACTIONS
from steersman.client.errors import RequestFailed, RequestTimedOut, retry_after_seconds
from steersman.client.transport import TransportError
from steersman.client.warnings import parse_warnings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from steersman.asynckit.clock import Clock
    from steersman.asynckit.ratelimit import TokenBucket
    from steersman.client.transport import Answer, Request, Stream, Transport

#: As client-go's ``maxRetries``.
RETRIES_MAX: Final = 10
#: A server that asks for more is not believed to mean this client.
_RETRY_AFTER_SECONDS_MAX: Final = 60.0
_CONNECTION_RETRY_SECONDS: Final = 1.0


class ClientMetrics(Protocol):
    """What client-go counts as ``rest_client_*``; all calls are made on the loop and must not wait."""

    def request_done(self, *, method: str, host: str, code: str, duration_seconds: float) -> None:
        """``rest_client_requests_total`` and ``…_request_duration_seconds``; ``code`` is ``<error>`` without an answer."""

    def retried(self, *, method: str, host: str, code: str) -> None:
        """``rest_client_request_retries_total``."""

    def throttled(self, *, method: str, host: str, waited_seconds: float) -> None:
        """``rest_client_rate_limiter_duration_seconds``."""


class NoMetrics:
    """Counts nothing."""

    def request_done(self, *, method: str, host: str, code: str, duration_seconds: float) -> None:
        """Nothing."""

    def retried(self, *, method: str, host: str, code: str) -> None:
        """Nothing."""

    def throttled(self, *, method: str, host: str, waited_seconds: float) -> None:
        """Nothing."""


class Sender:
    """Sends requests over a transport. An answer that is still a refusal after the retries is handed back."""

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock,
        timeout_seconds: float | None,
        user_agent: str,
        limiter: TokenBucket | None = None,
        metrics: ClientMetrics | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._user_agent = user_agent
        self._limiter = limiter
        self._metrics = metrics or NoMetrics()
        self._on_warning = on_warning

    async def request(self, request: Request) -> Answer:
        """The whole answer. Raises RequestFailed, RequestTimedOut."""
        request = self._prepared(request)
        for attempt in range(RETRIES_MAX + 1):
            await self._throttle(request)
            started = self._clock.monotonic()
            try:
                async with Timeout(self._timeout_seconds, clock=self._clock):
                    answer = await self._transport.request(request)
            except TransportError as error:
                self._count(request, "<error>", started)
                if attempt == RETRIES_MAX or not _may_send_again(request, error):
                    raise RequestFailed(f"{request.method} {request.path}: {error}") from error
                await self._wait(request, "<error>", _CONNECTION_RETRY_SECONDS)
                continue
            except TimeoutError as error:
                self._count(request, "<error>", started)
                raise RequestTimedOut(f"{request.method} {request.path}: {error}") from error
            self._count(request, str(answer.status), started)
            wait = retry_wait_seconds(answer.status, answer.headers)
            if wait is None or attempt == RETRIES_MAX:
                self._warn(answer.headers)
                if request.method != "GET" and answer.status < 400 and (actions := ACTIONS.get()) is not None:
                    actions.count(request)
                return answer
            await self._wait(request, str(answer.status), wait)
        raise AssertionError("the last attempt returns or raises")

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[Stream]:
        """A streamed answer, tried once: who streams knows when to begin anew. Raises RequestFailed, RequestTimedOut.

        The time bound is for the head of the answer; pieces may take as long as they like.
        """
        request = self._prepared(request)
        await self._throttle(request)
        started = self._clock.monotonic()
        context = self._transport.open(request)
        try:
            async with Timeout(self._timeout_seconds, clock=self._clock):
                stream = await context.__aenter__()
        except TransportError as error:
            self._count(request, "<error>", started)
            raise RequestFailed(f"{request.method} {request.path}: {error}") from error
        except TimeoutError as error:
            self._count(request, "<error>", started)
            raise RequestTimedOut(f"{request.method} {request.path}: {error}") from error
        self._count(request, str(stream.status), started)
        self._warn(stream.headers)
        try:
            yield stream
        finally:
            await context.__aexit__(None, None, None)

    def _prepared(self, request: Request) -> Request:
        return msgspec.structs.replace(request, headers={"user-agent": self._user_agent, **request.headers})

    async def _throttle(self, request: Request) -> None:
        if self._limiter is not None:
            started = self._clock.monotonic()
            await self._limiter.take()
            waited = self._clock.monotonic() - started
            self._metrics.throttled(method=request.method, host=self._transport.host, waited_seconds=waited)

    async def _wait(self, request: Request, code: str, seconds: float) -> None:
        self._metrics.retried(method=request.method, host=self._transport.host, code=code)
        await self._clock.sleep(seconds)

    def _count(self, request: Request, code: str, started: float) -> None:
        duration = self._clock.monotonic() - started
        self._metrics.request_done(
            method=request.method, host=self._transport.host, code=code, duration_seconds=duration
        )

    def _warn(self, headers: Mapping[str, str]) -> None:
        if self._on_warning is not None and "warning" in headers:
            for text in parse_warnings(headers["warning"]):
                self._on_warning(text)


def retry_wait_seconds(status: int, headers: Mapping[str, str]) -> float | None:
    """How long to wait before the same request is sent again; None: the answer is final (``checkWait``)."""
    if status != 429 and not 500 <= status <= 599:
        return None
    seconds = retry_after_seconds(headers)
    return None if seconds is None else min(seconds, _RETRY_AFTER_SECONDS_MAX)


def _may_send_again(request: Request, error: TransportError) -> bool:
    return error.before_sending or request.method == "GET"
