"""Webhooks that the configurations of admission plugins name by kubeconfig."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.kubeconfig_webhook import KubeconfigWebhook


class PluginWebhooks:
    """Open webhooks of plugins."""

    def __init__(self, *, clock: Clock, dice: Random) -> None:
        self._clock: Final = clock
        self._dice: Final = dice
        self._open: Final[list[KubeconfigWebhook]] = []

    def open(self, file: str, initial_backoff_seconds: float) -> KubeconfigWebhook:
        """Return the webhook of a kubeconfig for ``ImagePolicyWebhook``. Raises ``OptionError``."""
        from steersman.controlplane.kubeconfig_webhook import open_webhook  # noqa: PLC0415 — few servers have one

        webhook = open_webhook(
            "ImagePolicyWebhook",
            Path(file),
            clock=self._clock,
            dice=self._dice,
            initial_backoff_seconds=initial_backoff_seconds,
        )
        self._open.append(webhook)
        return webhook

    async def close(self) -> None:
        """Close the connections of all webhooks."""
        for webhook in self._open:
            await webhook.close()
