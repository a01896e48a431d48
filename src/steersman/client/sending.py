"""Request sender of a client: rate limit, timeout, deadline, retries, metrics, warnings.

Retries (``RetryPolicy``) follow client-go's ``rest.WithRetry``: a request that was answered with 429 or 5xx and
``Retry-After`` had no effect, regardless of its verb, and is sent again after that time. After a broken connection a
request is sent again only if that cannot apply a change twice: reads and, unlike client-go, requests whose connection
failed.
"""

from __future__ import annotations

import copy
from contextlib import asynccontextmanager
from dataclasses import dataclass
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
    from steersman.client.transport import Request, Response, Stream, Transport

#: Upstream: ``maxRetries`` of ``k8s.io/client-go/rest``.
RETRIES_MAX: Final = 10
#: Upper bound for ``Retry-After``.
_RETRY_AFTER_SECONDS_MAX: Final = 60.0
_CONNECTION_RETRY_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Conditions under which a request is sent again."""

    #: Retries of one call, after its first attempt; 0: every response and every error is final.
    retries_max: int = RETRIES_MAX
    #: Retry requests of any verb, each second, while no connection can be made (refused, no route, name not found).
    #: False is client-go's behaviour: such an error is reported at once.
    retry_failed_connections: bool = True


class ClientMetrics(Protocol):
    """Receiver of client-go's ``rest_client_*`` metrics; called on the event loop, must not block."""

    def request_done(self, *, method: str, host: str, code: str, duration_seconds: float) -> None:
        """Observe ``rest_client_requests_total`` and ``…_request_duration_seconds``.

        ``code`` is ``<error>`` without a response.
        """

    def transferred(self, *, method: str, host: str, request_bytes: int | None, response_bytes: int) -> None:
        """Observe the sizes of bodies (``rest_client_request_size_bytes``, ``…_response_size_bytes``).

        ``request_bytes`` is None for a request without a body. Streams are not observed.
        """

    def retried(self, *, method: str, host: str, code: str) -> None:
        """Count ``rest_client_request_retries_total``."""

    def throttled(self, *, method: str, host: str, waited_seconds: float) -> None:
        """Observe ``rest_client_rate_limiter_duration_seconds``."""


class NoMetrics:
    """``ClientMetrics`` that discards all observations."""

    def request_done(self, *, method: str, host: str, code: str, duration_seconds: float) -> None:
        """Do nothing."""

    def transferred(self, *, method: str, host: str, request_bytes: int | None, response_bytes: int) -> None:
        """Do nothing."""

    def retried(self, *, method: str, host: str, code: str) -> None:
        """Do nothing."""

    def throttled(self, *, method: str, host: str, waited_seconds: float) -> None:
        """Do nothing."""


class Sender:
    """Sends requests over a transport. Returns error responses that remain after the retries."""

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
        deadline_seconds: float | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        """``timeout_seconds`` bounds each attempt; ``deadline_seconds`` a call with its retries and waits."""
        self._transport = transport
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._deadline_seconds = deadline_seconds
        self._retry = retry or RetryPolicy()
        self._user_agent = user_agent
        self._limiter = limiter
        self._metrics = metrics or NoMetrics()
        self._on_warning = on_warning

    def with_options(self, *, deadline_seconds: float | None = None, retry: RetryPolicy | None = None) -> Sender:
        """Return a sender over the same transport and limiter; None keeps the value of this one."""
        sender = copy.copy(self)
        if deadline_seconds is not None:
            sender._deadline_seconds = deadline_seconds
        if retry is not None:
            sender._retry = retry
        return sender

    async def request(self, request: Request) -> Response:
        """Return the whole response. Raises RequestFailed, RequestTimedOut.

        A response whose retry is due after the deadline is final.
        """
        request = self._prepared(request)
        expires = self._expires()
        for attempt in range(self._retry.retries_max + 1):
            is_last = attempt == self._retry.retries_max
            if self._limiter is not None:
                await self._throttle(self._limiter, request, expires)
            started = self._clock.monotonic()
            try:
                async with Timeout(self._attempt_seconds(expires), clock=self._clock):
                    response = await self._transport.request(request)
            except TransportError as error:
                self._count(request, "<error>", started)
                if is_last or not self._may_send_again(request, error, expires):
                    raise RequestFailed(f"{request.method} {request.path}: {error}") from error
                await self._wait(request, "<error>", _CONNECTION_RETRY_SECONDS)
                continue
            except TimeoutError as error:
                self._count(request, "<error>", started)
                raise self._timed_out(request, expires) from error
            self._count(request, str(response.status), started)
            self._metrics.transferred(
                method=request.method,
                host=self._transport.host,
                request_bytes=len(request.body) if request.body else None,
                response_bytes=len(response.body),
            )
            wait = retry_wait_seconds(response.status, response.headers)
            if wait is None or is_last or self._is_beyond(wait, expires):
                self._warn(response.headers)
                if request.method != "GET" and response.status < 400 and (actions := ACTIONS.get()) is not None:
                    actions.count(request)
                return response
            await self._wait(request, str(response.status), wait)
        raise AssertionError("the last attempt returns or raises")

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[Stream]:
        """Open a streamed response, without retries. Raises RequestFailed, RequestTimedOut.

        Timeout and deadline bound the time until the response headers, not the stream.
        """
        request = self._prepared(request)
        expires = self._expires()
        if self._limiter is not None:
            await self._throttle(self._limiter, request, expires)
        started = self._clock.monotonic()
        context = self._transport.open(request)
        try:
            async with Timeout(self._attempt_seconds(expires), clock=self._clock):
                stream = await context.__aenter__()
        except TransportError as error:
            self._count(request, "<error>", started)
            raise RequestFailed(f"{request.method} {request.path}: {error}") from error
        except TimeoutError as error:
            self._count(request, "<error>", started)
            raise self._timed_out(request, expires) from error
        self._count(request, str(stream.status), started)
        self._warn(stream.headers)
        try:
            yield stream
        finally:
            await context.__aexit__(None, None, None)

    def _prepared(self, request: Request) -> Request:
        return msgspec.structs.replace(request, headers={"user-agent": self._user_agent, **request.headers})

    def _expires(self) -> float | None:
        """Return the monotonic deadline of a call that starts now; None: no deadline."""
        return None if self._deadline_seconds is None else self._clock.monotonic() + self._deadline_seconds

    def _attempt_seconds(self, expires: float | None) -> float | None:
        if expires is None:
            return self._timeout_seconds
        remaining_seconds = max(0.0, expires - self._clock.monotonic())
        return remaining_seconds if self._timeout_seconds is None else min(self._timeout_seconds, remaining_seconds)

    def _timed_out(self, request: Request, expires: float | None, cause: str = "") -> RequestTimedOut:
        is_deadline = expires is not None and self._clock.monotonic() >= expires
        bound = (
            f"deadline of {self._deadline_seconds} seconds exceeded{cause}"
            if is_deadline
            else f"not done within {self._timeout_seconds} seconds"
        )
        return RequestTimedOut(f"{request.method} {request.path}: {bound}")

    def _is_beyond(self, wait: float, expires: float | None) -> bool:
        return expires is not None and self._clock.monotonic() + wait >= expires

    def _may_send_again(self, request: Request, error: TransportError, expires: float | None) -> bool:
        if self._is_beyond(_CONNECTION_RETRY_SECONDS, expires):
            return False
        return self._retry.retry_failed_connections if error.before_sending else request.method == "GET"

    async def _throttle(self, limiter: TokenBucket, request: Request, expires: float | None) -> None:
        started = self._clock.monotonic()
        seconds = None if expires is None else max(0.0, expires - started)
        try:
            async with Timeout(seconds, clock=self._clock):
                await limiter.take()
        except TimeoutError as error:
            raise self._timed_out(request, expires, " by the rate limiter of the client") from error
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
    """Return the delay before the request is sent again; None: the response is final. Upstream: ``checkWait``."""
    if status != 429 and not 500 <= status <= 599:
        return None
    seconds = retry_after_seconds(headers)
    return None if seconds is None else min(seconds, _RETRY_AFTER_SECONDS_MAX)
