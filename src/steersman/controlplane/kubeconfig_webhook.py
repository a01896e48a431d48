"""Client of a webhook that a kubeconfig names: posts a JSON body to the exact URL of its server, with retries.

The client of token reviews, access reviews and image reviews. Redirects are not followed, and an answer is bounded in size
and time.

Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec

from steersman.apimachinery.durations import format_duration
from steersman.apimachinery.errors import Reason
from steersman.apimachinery.gotext import quote
from steersman.apiserver.webhooks.client import WebhookCallError, json_body
from steersman.apiserver.webhooks.connection import Answer
from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.timeouts import Timeout
from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.credentials import ConfigError
from steersman.client.kubeconfig import load_kubeconfig
from steersman.client.transport import Request, Response, TransportError, read_body
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.client.kubeconfig import ClusterAccess
    from steersman.client.transport import Transport

T = TypeVar("T")

#: Attempts of one call.
TRIES: Final = 5
#: Timeout of one attempt.
TIMEOUT_SECONDS: Final = 30.0
#: Delay before the first retry of reviews.
RETRY_SECONDS: Final = 0.5
RESPONSE_BYTES_MAX: Final = 10 * 1024 * 1024
HEADERS: Final = {"content-type": "application/json", "accept": "application/json"}
#: Reasons of a Status that advise a retry. Upstream: ``DefaultShouldRetry``.
_RETRIED_REASONS: Final = frozenset({Reason.INTERNAL_ERROR, Reason.TIMEOUT, Reason.TOO_MANY_REQUESTS})


def retry_backoff(initial_seconds: float) -> BackoffPolicy:
    """Return the delays between attempts. Upstream: ``DefaultRetryBackoffWithInitialDelay``."""
    return BackoffPolicy(initial_seconds, max_seconds=float("inf"), factor=1.5, jitter=0.2)


def read_webhook_kubeconfig(flag: str, file: Path, *, clock: Clock) -> ClusterAccess:
    """Read the kubeconfig of a webhook. ``flag`` names its origin in errors. Raise ``OptionError``."""
    try:
        return load_kubeconfig(file, clock=clock)
    except ConfigError as error:
        raise OptionError(f"{flag}: {error}") from error


def open_target(access: ClusterAccess) -> tuple[Transport, Request]:
    """Return a transport to the server, and the request that posts to its exact URL, without a body."""
    parts = urlsplit(access.server)
    transport = AiohttpTransport(
        msgspec.structs.replace(access, server=f"{parts.scheme}://{parts.netloc}", disable_compression=True)
    )
    return transport, Request("POST", parts.path or "/", query=tuple(parse_qsl(parts.query)), headers=HEADERS)


class KubeconfigWebhook:
    """Webhook of a kubeconfig. ``close`` ends its connections."""

    def __init__(
        self,
        transport: Transport,
        target: Request,
        *,
        server: str,
        clock: Clock,
        dice: Random,
        timeout_seconds: float = TIMEOUT_SECONDS,
        initial_backoff_seconds: float = RETRY_SECONDS,
        on_attempt: Callable[[str, float], None] | None = None,
        on_result: Callable[[str, float], None] | None = None,
    ) -> None:
        """``transport`` and ``target``: as ``open_target`` returns them. ``server``: ``https://host:port``, for errors.

        ``on_attempt`` receives the status code of each attempt (``<error>`` without an answer) and its seconds,
        ``on_result`` its result: ``success``, ``timeout``, ``canceled``, ``error``.
        """
        self._transport: Final = transport
        timeout = ("timeout", format_duration(timeout_seconds))
        self._target: Final = msgspec.structs.replace(target, query=(*target.query, timeout))
        self._url: Final = f"{server}{self._target.target}"
        self._timeout_seconds: Final = timeout_seconds
        self._backoff: Final = retry_backoff(initial_backoff_seconds)
        self._clock: Final = clock
        self._dice: Final = dice
        self._on_attempt: Final = on_attempt or _ignore
        self._on_result: Final = on_result or _ignore

    async def post(self, body: bytes) -> bytes:
        """Return the JSON body of a successful answer; retry temporary failures. Raises ``WebhookCallError``."""
        return await self.call(body, bytes)

    async def call(self, body: bytes, read: Callable[[bytes], T]) -> T:
        """Return what ``read`` returns for the JSON body of a successful answer; retry temporary failures.

        Raises ``WebhookCallError``, also if ``read`` raises ``ValueError``.
        """
        backoff = Backoff(self._backoff, dice=self._dice)
        request = msgspec.structs.replace(self._target, body=body)
        for left in reversed(range(TRIES)):
            has_hint = False
            started, result = self._clock.monotonic(), "canceled"
            try:
                response = await self._attempt(request)
                has_hint = response.status >= 400 and "retry-after" in response.headers
                value = _read(response, read)
            except WebhookCallError as error:
                result = "timeout" if error.is_timeout or _is_gateway_timeout(error) else "error"
                if not left or not (has_hint or _is_temporary(error)):
                    raise
            else:
                result = "success"
                return value
            finally:
                self._on_result(result, self._clock.monotonic() - started)
            await self._clock.sleep(backoff.next_seconds())
        raise AssertionError("unreachable")

    async def _attempt(self, request: Request) -> Response:
        started = self._clock.monotonic()
        try:
            async with Timeout(self._timeout_seconds, clock=self._clock):
                response = await self._exchange(request)
        except TimeoutError:
            self._on_attempt("<error>", self._clock.monotonic() - started)
            raise WebhookCallError(self._failure("context deadline exceeded"), is_timeout=True) from None
        except (TransportError, ConfigError) as error:
            self._on_attempt("<error>", self._clock.monotonic() - started)
            raise WebhookCallError(self._failure(str(error))) from error
        self._on_attempt(str(response.status), self._clock.monotonic() - started)
        return response

    def _failure(self, reason: str) -> str:
        return f"Post {quote(self._url)}: {reason}"

    async def _exchange(self, request: Request) -> Response:
        async with self._transport.open(request) as response:
            body = await read_body(response, bytes_max=RESPONSE_BYTES_MAX)
            return Response(response.status, response.headers, body)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()


def _ignore(code: str, seconds: float) -> None:
    del code, seconds


def _read(response: Response, read: Callable[[bytes], T]) -> T:
    body = json_body(Answer(response.status, response.headers.get("content-type", ""), response.body))
    try:
        return read(body)
    except ValueError as error:
        raise WebhookCallError(str(error)) from error


def _is_gateway_timeout(error: WebhookCallError) -> bool:
    return error.status is not None and (error.status.code == 504 or error.status.reason == Reason.TIMEOUT)


def _is_temporary(error: WebhookCallError) -> bool:
    """Report whether a retry may succeed. Upstream: ``DefaultShouldRetry``."""
    if error.status is None:
        cause = error.__cause__
        return isinstance(cause, TransportError) and cause.is_reset
    return error.status.reason in _RETRIED_REASONS or bool(error.status.details.get("retryAfterSeconds"))


def open_webhook(
    flag: str,
    file: Path,
    *,
    clock: Clock,
    dice: Random,
    timeout_seconds: float = TIMEOUT_SECONDS,
    initial_backoff_seconds: float = RETRY_SECONDS,
    on_attempt: Callable[[str, float], None] | None = None,
    on_result: Callable[[str, float], None] | None = None,
) -> KubeconfigWebhook:
    """Return the webhook of a kubeconfig's current context. ``flag`` names its origin in errors. Raises ``OptionError``."""
    access = read_webhook_kubeconfig(flag, file, clock=clock)
    transport, target = open_target(access)
    return KubeconfigWebhook(
        transport,
        target,
        server=f"{urlsplit(access.server).scheme}://{transport.host}",
        clock=clock,
        dice=dice,
        timeout_seconds=timeout_seconds,
        initial_backoff_seconds=initial_backoff_seconds,
        on_attempt=on_attempt,
        on_result=on_result,
    )
