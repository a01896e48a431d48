"""Token webhook of one API server: its client, its cache and their metrics.

Upstream: pkg/kubeapiserver/authenticator/config.go (``newWebhookTokenAuthenticator``)
"""

from __future__ import annotations

import secrets
from random import Random
from typing import TYPE_CHECKING, Final

from steersman.apiserver.authn.token_cache import CachedTokens, TokenCacheMetrics
from steersman.apiserver.authn.webhook_metrics import TokenReviewMetrics
from steersman.apiserver.authn.webhook_token import ReviewError, WebhookTokens
from steersman.apiserver.observability.authentication_metrics import TokenWebhookMetricsCollector
from steersman.apiserver.webhooks.client import WebhookCallError
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.authentication.options import WEBHOOK_FLAG
from steersman.controlplane.kubeconfig_webhook import open_webhook

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions


class WebhookAuthentication:
    """Token authenticator by a webhook. ``close`` ends its reviews and connections."""

    def __init__(self, options: APIServerOptions, file: Path, *, audiences: Sequence[str], clock: Clock) -> None:
        """Raises ``OptionError``, ``MissingPackagesError``."""
        metrics, cache_metrics = TokenReviewMetrics(), TokenCacheMetrics()
        #: Collector of the metrics of reviews and of their cache.
        self.collect: Final = TokenWebhookMetricsCollector(metrics, cache_metrics).collect
        self._webhook: Final = open_webhook(
            WEBHOOK_FLAG,
            file,
            clock=clock,
            dice=Random(secrets.randbits(64)),  # noqa: S311 — it spreads retries
            on_attempt=metrics.observe_attempt,
        )
        self._tasks: Final = Supervisor("token webhook")
        self.tokens: Final = CachedTokens(
            WebhookTokens(self._post, version=options.authentication_token_webhook_version, audiences=audiences),
            audiences=audiences,
            ttl_seconds=options.authentication_token_webhook_cache_ttl_seconds,
            clock=clock,
            tasks=self._tasks,
            metrics=cache_metrics,
        )

    async def _post(self, body: bytes) -> bytes:
        try:
            return await self._webhook.post(body)
        except WebhookCallError as error:
            raise ReviewError(str(error)) from error

    async def close(self) -> None:
        """End running reviews and close the connections."""
        await self._tasks.close()
        await self._webhook.close()
