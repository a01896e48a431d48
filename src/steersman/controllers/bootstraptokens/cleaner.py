"""``token-cleaner-controller``: deletes bootstrap tokens when they expire."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import Secret

from steersman.client.changes import Deleted
from steersman.controllers.bootstraptokens.plan import NAMESPACE, TYPE, seconds_to_expiry
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext


class TokenCleaner(ManagedController):
    """Reconciles token Secrets."""

    name: ClassVar[str] = "token-cleaner-controller"
    queue_name: ClassVar[str] = "token_cleaner"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._tokens = self.watch(
            Secret,
            namespace=NAMESPACE,
            field_selector={"type": TYPE},
            when=lambda change: not isinstance(change, Deleted),
        )

    async def reconcile(self, key: str) -> Result | None:
        """Wait or delete."""
        secret = self._tokens.lister.by_key(key)
        remaining_seconds = seconds_to_expiry(secret, now=self.clock.now()) if secret is not None else None
        if secret is None or remaining_seconds is None:
            return None
        if remaining_seconds > 0:
            return Result(requeue_after_seconds=remaining_seconds)
        await self.delete_seen(secret)
        return None


def build(context: ControllerContext) -> TokenCleaner:
    """Construct the controller."""
    return TokenCleaner(context)
