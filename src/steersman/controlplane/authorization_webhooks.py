"""Webhooks of the authorization mode ``Webhook``, loaded when one is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.webhook import ReviewCallError, WebhookAuthorizer
from steersman.apiserver.authz.webhook_metrics import AuthorizationWebhookMetrics
from steersman.apiserver.observability.authorization_metrics import AuthorizationMetricsCollector
from steersman.apiserver.webhooks.client import WebhookCallError
from steersman.controlplane.kubeconfig_webhook import open_webhook

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from steersman.apiserver.authz.access_review import ReviewStatus
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authorization_configuration import WebhookConfiguration
    from steersman.controlplane.kubeconfig_webhook import KubeconfigWebhook


class AuthorizationWebhooks:
    """Open webhooks and their metrics."""

    def __init__(self, *, clock: Clock, dice: Random) -> None:
        self._clock: Final = clock
        self._dice: Final = dice
        self.metrics: Final = AuthorizationWebhookMetrics()
        self.collect: Final = AuthorizationMetricsCollector(self.metrics).collect
        self._open: list[KubeconfigWebhook] = []

    def authorizer(self, flag: str, name: str, config: WebhookConfiguration) -> WebhookAuthorizer:
        """Return the authorizer of a webhook. ``flag`` names the origin of its kubeconfig. Raises ``OptionError``."""
        conditions = None
        if config.expressions:
            from steersman.apiserver.authz.match_conditions import (  # noqa: PLC0415 — loads the expression language
                MatchConditions,
            )

            conditions = MatchConditions(config.expressions)
        webhook = open_webhook(
            flag,
            config.kubeconfig,
            clock=self._clock,
            dice=self._dice,
            timeout_seconds=config.timeout_seconds,
            on_result=lambda result, seconds: self.metrics.observe_call(name, result, seconds),
        )
        self._open.append(webhook)
        return WebhookAuthorizer(
            name,
            _ReviewCall(webhook),
            version=config.version,
            authorized_seconds=config.authorized_seconds,
            unauthorized_seconds=config.unauthorized_seconds,
            denies_on_error=config.denies_on_error,
            conditions=conditions,
            metrics=self.metrics,
            clock=self._clock,
        )

    def take_open(self) -> list[KubeconfigWebhook]:
        """Return the open webhooks, which the caller closes."""
        webhooks, self._open = self._open, []
        return webhooks

    async def close(self) -> None:
        """Close the connections of all webhooks."""
        for webhook in self.take_open():
            await webhook.close()


class _ReviewCall:
    """Client of a webhook with the errors of authorizers."""

    def __init__(self, webhook: KubeconfigWebhook) -> None:
        self._webhook: Final = webhook

    async def __call__(self, body: bytes, read: Callable[[bytes], ReviewStatus]) -> ReviewStatus:
        try:
            return await self._webhook.call(body, read)
        except WebhookCallError as error:
            raise ReviewCallError(str(error), result="timeout" if error.is_timeout else "error") from error
