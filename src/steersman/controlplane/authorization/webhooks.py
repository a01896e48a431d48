"""Webhooks of the authorization mode ``Webhook``, loaded when one is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.webhook import ReviewCallError, WebhookAuthorizer
from steersman.apiserver.authz.webhook_metrics import AuthorizationWebhookMetrics
from steersman.apiserver.observability.authorization_metrics import AuthorizationMetricsCollector
from steersman.apiserver.webhooks.client import WebhookCallError
from steersman.controlplane.kubeconfig_webhook import open_webhook

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from steersman.apiserver.authz.access_review import ReviewStatus
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authorization.authorizers import WebhookConfiguration
    from steersman.controlplane.kubeconfig_webhook import KubeconfigWebhook


class AuthorizationWebhooks:
    """Open webhooks and their metrics."""

    def __init__(self, *, clock: Clock, dice: Random) -> None:
        self._clock: Final = clock
        self._dice: Final = dice
        self.metrics: Final = AuthorizationWebhookMetrics()
        self.collect: Final = AuthorizationMetricsCollector(self.metrics).collect
        #: Webhooks of the authorizers that are being made, in use, and in use before.
        self._new: list[KubeconfigWebhook] = []
        self._current: list[KubeconfigWebhook] = []
        self._former: list[KubeconfigWebhook] = []

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
        self._new.append(webhook)
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

    def adopt(self) -> list[KubeconfigWebhook]:
        """Use the new webhooks from now on. Return those to close.

        Webhooks in use before stay open until the next call, for requests in flight.
        """
        unused, self._former, self._current, self._new = self._former, self._current, self._new, []
        return unused

    async def discard(self) -> None:
        """Close the new webhooks, as their configuration is not used."""
        unused, self._new = self._new, []
        await close_all(unused)

    async def close(self) -> None:
        """Close the connections of all webhooks."""
        await close_all([*self._new, *self._current, *self._former])


async def close_all(webhooks: Sequence[KubeconfigWebhook]) -> None:
    """Close the connections of webhooks."""
    for webhook in webhooks:
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
