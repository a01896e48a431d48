"""Token webhook of one API server: its client, its cache and their metrics.

Upstream: pkg/kubeapiserver/authenticator/config.go (``newWebhookTokenAuthenticator``)
"""

from __future__ import annotations

import secrets
from random import Random
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.histogram import Histogram
from steersman.apiserver.authn.token_cache import CachedTokens, TokenCacheMetrics
from steersman.apiserver.authn.webhook_token import ReviewError, WebhookTokens
from steersman.apiserver.observability.metrics import counter, gauge, histogram
from steersman.apiserver.webhooks.client import WebhookCallError
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.authentication.options import WEBHOOK_FLAG
from steersman.controlplane.kubeconfig_webhook import open_webhook

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from steersman.apiserver.observability.metrics import Family
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions

_REVIEW_BUCKETS: Final[tuple[float, ...]] = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)


class WebhookAuthentication:
    """Token authenticator by a webhook. ``close`` ends its reviews and connections."""

    def __init__(self, options: APIServerOptions, file: Path, *, audiences: Sequence[str], clock: Clock) -> None:
        """Raises ``OptionError``, ``MissingPackagesError``."""
        self._attempts: Final[dict[str, Histogram]] = {}
        self._webhook: Final = open_webhook(
            WEBHOOK_FLAG,
            file,
            clock=clock,
            dice=Random(secrets.randbits(64)),  # noqa: S311 — it spreads retries
            on_attempt=self._attempted,
        )
        self._tasks: Final = Supervisor("token webhook")
        self._cache_metrics: Final = TokenCacheMetrics()
        self.tokens: Final = CachedTokens(
            WebhookTokens(self._post, version=options.authentication_token_webhook_version, audiences=audiences),
            audiences=audiences,
            ttl_seconds=options.authentication_token_webhook_cache_ttl_seconds,
            clock=clock,
            tasks=self._tasks,
            metrics=self._cache_metrics,
        )

    async def _post(self, body: bytes) -> bytes:
        try:
            return await self._webhook.post(body)
        except WebhookCallError as error:
            raise ReviewError(str(error)) from error

    def _attempted(self, code: str, seconds: float) -> None:
        durations = self._attempts.get(code)
        if durations is None:
            durations = self._attempts[code] = Histogram(_REVIEW_BUCKETS)
        durations.observe(seconds)

    async def collect(self) -> Iterable[Family]:
        """Return the metrics of reviews and of their cache."""
        attempts = [((("code", code),), durations) for code, durations in sorted(self._attempts.items())]
        cache = self._cache_metrics
        requests = [((("status", status),), durations) for status, durations in sorted(cache.requests.items())]
        return [
            counter(
                "apiserver_delegated_authn_request_total",
                "Requests of token reviews, by status code.",
                [(labels, durations.count) for labels, durations in attempts],
            ),
            histogram(
                "apiserver_delegated_authn_request_duration_seconds",
                "Duration of requests of token reviews in seconds, by status code.",
                attempts,
            ),
            counter(
                "authentication_token_cache_request_total",
                "Look-ups of tokens in the cache, by status.",
                [(labels, durations.count) for labels, durations in requests],
            ),
            histogram(
                "authentication_token_cache_request_duration_seconds",
                "Duration of look-ups of tokens in seconds, by status.",
                requests,
            ),
            counter(
                "authentication_token_cache_fetch_total",
                "Token reviews by result.",
                [((("status", status),), count) for status, count in sorted(cache.fetches.items())],
            ),
            gauge(
                "authentication_token_cache_active_fetch_count",
                "Running token reviews, and requests that wait for one.",
                [((("status", "blocked"),), cache.blocked), ((("status", "in_flight"),), cache.in_flight)],
            ),
        ]

    async def close(self) -> None:
        """End running reviews and close the connections."""
        await self._tasks.close()
        await self._webhook.close()
