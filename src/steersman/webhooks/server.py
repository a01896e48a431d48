"""HTTPS server of webhooks, on aiohttp.

The client of the toolkit needs aiohttp as well. The HTTP server of the API server would need the packages of the server, and
``runtime.http`` has no bodies and one request per connection.

Upstream: controller-runtime's ``pkg/webhook/server.go``.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

from aiohttp import web
from prometheus_client import CollectorRegistry

from steersman.asynckit.client_certificates import verified_chain
from steersman.asynckit.clock import RealClock
from steersman.asynckit.serving_tls import PemPair, make_context
from steersman.asynckit.timeouts import Timeout
from steersman.client.client import resource_type
from steersman.runtime.health import Unhealthy
from steersman.runtime.http import bind_port
from steersman.runtime.http_listener import listener_runner
from steersman.webhooks.admission import AdmissionWebhook
from steersman.webhooks.conversion import ConversionWebhook
from steersman.webhooks.metrics import WebhookMetrics
from steersman.webhooks.reviews import ReviewError

if TYPE_CHECKING:
    import os
    import socket
    from collections.abc import Callable, Collection
    from types import TracebackType

    from steersman.asynckit.clock import Clock
    from steersman.client.client import ResourceLike
    from steersman.runtime.manager import Manager
    from steersman.webhooks.admission import AdmissionHandler
    from steersman.webhooks.certificates import CertificateSource
    from steersman.webhooks.conversion import Converter
    from steersman.webhooks.spec_reviews import SpecHandler

    H = TypeVar("H", bound=AdmissionHandler)
    S = TypeVar("S", bound=SpecHandler)

_log = logging.getLogger(__name__)

#: Upstream: ``DefaultPort``.
DEFAULT_PORT: Final = 9443
#: Upstream: ``maxRequestSize`` of ``pkg/webhook/admission/http.go``.
ADMISSION_BYTES_MAX: Final = 7 * 1024 * 1024
#: A kube-apiserver sends all objects of a list in one review.
CONVERSION_BYTES_MAX: Final = 128 * 1024 * 1024
#: Longest timeout of a webhook that a configuration may have.
REQUEST_SECONDS_MAX: Final = 30.0
#: Requests that are served at a time; further ones are rejected with 503.
IN_FLIGHT_MAX: Final = 400
_PROBES: Final = ("/healthz", "/readyz")


class Webhook(Protocol):
    """Interface of what is served at a path."""

    async def review(self, body: bytes) -> bytes:
        """Return the review that answers one. Raises ``ReviewError``."""


class _RejectedError(Exception):
    """The request is answered with an HTTP error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class WebhookServer:
    """HTTPS server of admission and conversion webhooks, on every replica whether or not it leads.

    Add webhooks, then ``add_to`` a manager, or serve inside ``async with``. Responses to requests in progress are sent before
    it stops, within the grace period.

    The certificate and the client authorities are loaded again periodically; connections keep those that they began with.
    With ``client_ca_file`` only clients with a certificate of these authorities reach a webhook, with ``client_names`` only
    those whose certificate has one of the common names. Probes, ``/healthz`` and ``/readyz``, need none.
    """

    def __init__(
        self,
        certificates: CertificateSource,
        *,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        client_ca_file: str | os.PathLike[str] = "",
        client_names: Collection[str] = (),
        clock: Clock | None = None,
        registry: CollectorRegistry | None = None,
        admission_bytes_max: int = ADMISSION_BYTES_MAX,
        conversion_bytes_max: int = CONVERSION_BYTES_MAX,
        shutdown_grace_seconds: float = REQUEST_SECONDS_MAX,
    ) -> None:
        """``host``: empty for all addresses, as in a pod. ``port``: 0 for any free one, see ``port``.

        ``clock`` and ``registry``: those of the manager by default. Raises ValueError for names without authorities.
        """
        if client_names and not client_ca_file:
            raise ValueError("client_names need client_ca_file")
        self._certificates = certificates
        self._host = host
        self._port = port
        self._client_ca_file = client_ca_file
        self._client_names = frozenset(client_names)
        self._clock = clock
        self._registry = registry
        self._admission_bytes_max = admission_bytes_max
        self._conversion_bytes_max = conversion_bytes_max
        self._grace = shutdown_grace_seconds
        #: Webhook and largest body by path.
        self._webhooks: dict[str, tuple[Webhook, int]] = {}
        self._in_flight = 0
        self._socket: socket.socket | None = None
        self._runner: web.BaseRunner | None = None
        self._site: web.BaseSite | None = None
        self._loaded: tuple[PemPair, str] | None = None
        self._listening = asyncio.Event()
        self._metrics: WebhookMetrics

    # Webhooks

    def mutating(self, path: str, resource: ResourceLike[Any] | None = None) -> Callable[[H], H]:
        """Return a decorator for the handler of a mutating webhook; see ``validating``. It may return ``mutated(…)``."""
        return self._admission(path, resource, is_mutating=True)

    def validating(self, path: str, resource: ResourceLike[Any] | None = None) -> Callable[[H], H]:
        """Return a decorator for the handler of a validating webhook, a function or a coroutine function.

        ``resource``: decodes the objects of requests to its class, and denies requests for other kinds; without it the handler
        receives objects of any kind as trees. The handler returns an ``AdmissionResponse``. An exception denies the request.
        """
        return self._admission(path, resource, is_mutating=False)

    def _admission(self, path: str, resource: ResourceLike[Any] | None, *, is_mutating: bool) -> Callable[[H], H]:
        info = None if resource is None else resource_type(resource)

        def register(handler: H) -> H:
            self._add(path, AdmissionWebhook(handler, info, is_mutating=is_mutating), self._admission_bytes_max)
            return handler

        return register

    def add_conversion(self, path: str, *converters: Converter) -> None:
        """Serve conversions. Raises ValueError for a converter that lacks functions."""
        self._add(path, ConversionWebhook(converters), self._conversion_bytes_max)

    def token_review(self, path: str) -> Callable[[S], S]:
        """Return a decorator for the handler of an authentication webhook: ``TokenReviewSpec`` to ``TokenReviewStatus``."""
        return self._spec_review(path, "TokenReview")

    def subject_access_review(self, path: str) -> Callable[[S], S]:
        """Return a decorator for the handler of an authorization webhook.

        It maps ``SubjectAccessReviewSpec`` to ``SubjectAccessReviewStatus``.
        """
        return self._spec_review(path, "SubjectAccessReview")

    def image_review(self, path: str) -> Callable[[S], S]:
        """Return a decorator for the handler of an image policy webhook: ``ImageReviewSpec`` to ``ImageReviewStatus``."""
        return self._spec_review(path, "ImageReview")

    def _spec_review(self, path: str, kind: str) -> Callable[[S], S]:
        from steersman.webhooks.spec_reviews import REVIEWS, SpecWebhook  # noqa: PLC0415 — loads lightkube

        def register(handler: S) -> S:
            self._add(path, SpecWebhook(handler, REVIEWS[kind]), self._admission_bytes_max)
            return handler

        return register

    def _add(self, path: str, webhook: Webhook, body_bytes_max: int) -> None:
        if not path.startswith("/") or path in self._webhooks or path in _PROBES:
            raise ValueError(f"{path} is no path, or is in use")
        self._webhooks[path] = (webhook, body_bytes_max)

    @property
    def paths(self) -> list[str]:
        """Return the paths of all webhooks, sorted."""
        return sorted(self._webhooks)

    # Lifecycle

    def add_to(self, manager: Manager) -> None:
        """Serve while the manager runs. ``/readyz`` of the manager fails until the server listens."""
        self._clock = self._clock or manager.context.clock
        self._registry = self._registry or manager.context.metrics.registry
        manager.add_background("webhook server", self.run)
        manager.readyz.add("webhook", self._check)

    async def run(self) -> None:
        """Serve until cancelled. Raises ``ListenError``, and the error of a certificate that cannot be loaded at the start."""
        async with self:
            while True:
                await self.clock.sleep(self._certificates.reload_seconds)
                await self.reload()

    @property
    def clock(self) -> Clock:
        """Clock of all waits."""
        return self._clock or RealClock()

    @property
    def port(self) -> int:
        """Bound port."""
        return self._port if self._socket is None else int(self._socket.getsockname()[1])

    @property
    def is_listening(self) -> bool:
        """Report whether the server accepts connections."""
        return self._listening.is_set()

    async def wait_until_listening(self) -> None:
        """Wait until the server accepts connections, e.g. to register it then."""
        await self._listening.wait()

    async def __aenter__(self) -> Self:
        self._metrics = WebhookMetrics(self._registry or CollectorRegistry(), self.clock)
        for path in self._webhooks:
            self._metrics.add_webhook(path)
        self._socket = bind_port(self._host, self._port)
        try:
            self._runner = listener_runner(self._serve, shutdown_seconds=self._grace)
            await self._runner.setup()
            await self._load()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        self._listening.clear()
        runner, self._runner, self._site, self._loaded = self._runner, None, None, None
        try:
            if runner is not None:
                await runner.cleanup()
        finally:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    async def reload(self) -> None:
        """Load the certificate and the client authorities again; after an error, which is logged, the former ones stay."""
        try:
            await self._load()
        except Exception as error:  # noqa: BLE001 — any source may fail for a while
            _log.warning("the serving certificate cannot be loaded again: %s", error)

    async def _load(self) -> None:
        loaded = (await self._certificates.load(), await asyncio.to_thread(self._read_client_ca))
        if loaded == self._loaded:
            return
        try:
            context = await asyncio.to_thread(make_context, *loaded)
        except ssl.SSLError as error:
            raise ValueError(f"the serving certificate or the client authorities cannot be used: {error}") from error
        assert self._runner is not None
        assert self._socket is not None
        former = self._site
        # A duplicate, because a site closes its socket.
        self._site = web.SockSite(self._runner, self._socket.dup(), ssl_context=context)
        await self._site.start()
        if former is not None:
            await former.stop()
        self._loaded = loaded
        self._listening.set()

    def _read_client_ca(self) -> str:
        """Return the client authorities in PEM. Raises OSError, ValueError for an empty file, which would admit any client."""
        if not self._client_ca_file:
            return ""
        text = Path(self._client_ca_file).read_text(encoding="ascii")
        if not text.strip():
            raise ValueError(f"{self._client_ca_file} has no certificate")
        return text

    def _check(self) -> None:
        if not self.is_listening:
            raise Unhealthy("the webhook server does not listen")

    # Requests

    async def _serve(self, request: web.BaseRequest) -> web.Response:
        if request.path in _PROBES and request.method in ("GET", "HEAD"):
            return web.Response(text="ok")
        served = self._webhooks.get(request.path)
        if served is None:
            return _error(404, "404 page not found")
        with self._metrics.in_flight(request.path):
            response = await self._answer(request, *served)
        self._metrics.answered(request.path, response.status)
        return response

    async def _answer(self, request: web.BaseRequest, webhook: Webhook, body_bytes_max: int) -> web.Response:
        if self._in_flight >= IN_FLIGHT_MAX:
            return _error(503, "too many requests are in progress")
        self._in_flight += 1
        try:
            self._check_request(request)
            async with Timeout(REQUEST_SECONDS_MAX, clock=self.clock):
                body = await webhook.review(await _read(request, body_bytes_max))
        except _RejectedError as rejected:
            return _error(rejected.code, str(rejected))
        except ReviewError as error:
            return _error(400, str(error))
        except TimeoutError:
            _log.warning("no response of %s within %s seconds", request.path, REQUEST_SECONDS_MAX)
            return _error(504, "the webhook did not respond in time")
        except Exception:  # noqa: BLE001 — a webhook that fails is answered with 500
            _log.exception("the webhook %s failed", request.path)
            return _error(500, "internal server error")
        finally:
            self._in_flight -= 1
        return web.Response(body=body, content_type="application/json")

    def _check_request(self, request: web.BaseRequest) -> None:
        if self._client_ca_file:
            self._check_client(request)
        if request.method != "POST":
            raise _RejectedError(405, "method not allowed")
        if request.content_type != "application/json":
            raise _RejectedError(415, f"contentType={request.content_type}, expected application/json")

    def _check_client(self, request: web.BaseRequest) -> None:
        tls = request.get_extra_info("ssl_object")
        if tls is None or not verified_chain(tls):
            raise _RejectedError(401, "a client certificate is required")
        subject = (tls.getpeercert() or {}).get("subject", ())
        names = {value for part in subject for kind, value in part if kind == "commonName"}
        if self._client_names and not names & self._client_names:
            raise _RejectedError(403, "the client certificate is of another client")


async def _read(request: web.BaseRequest, bytes_max: int) -> bytes:
    """Return the body. Raises ``_RejectedError`` for one that is too large, before all of it is read."""
    if (request.content_length or 0) > bytes_max:
        raise _RejectedError(413, f"the limit is {bytes_max} bytes")
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > bytes_max:
            raise _RejectedError(413, f"the limit is {bytes_max} bytes")
    return bytes(body)


def _error(code: int, message: str) -> web.Response:
    return web.Response(status=code, text=f"{message}\n")
