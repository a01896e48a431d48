"""``bootstrap-signer-controller``: signs the config map ``cluster-info`` with all usable tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import ConfigMap, Secret

from steersman.controllers.bootstraptokens.plan import (
    CLUSTER_INFO,
    NAMESPACE,
    PUBLIC_NAMESPACE,
    TYPE,
    seconds_to_expiry,
    signed,
    signing_token,
)
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext

_KEY: Final = f"{PUBLIC_NAMESPACE}/{CLUSTER_INFO}"


class BootstrapSigner(ManagedController):
    """Reconciles one key, the config map."""

    name: ClassVar[str] = "bootstrap-signer-controller"
    queue_name: ClassVar[str] = "bootstrap_signer_queue"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._tokens = self.watch(Secret, namespace=NAMESPACE, field_selector={"type": TYPE}, keys=lambda _: (_KEY,))
        self._infos = self.watch(ConfigMap, namespace=PUBLIC_NAMESPACE, field_selector={"metadata.name": CLUSTER_INFO})

    async def reconcile(self, key: str) -> Result | None:
        """Write the signatures; requeue for the expiration of the next token."""
        info = self._infos.lister.by_key(key)
        if info is None:
            return None
        now = self.clock.now()
        tokens = dict(token for secret in self._tokens.lister if (token := signing_token(secret, now=now)))
        new = signed(info, tokens)
        if new is not None:
            self.own_writes.note(key, self._infos, await self.client.update(new))
        expirations = [seconds for secret in self._tokens.lister if (seconds := seconds_to_expiry(secret, now=now))]
        waits = [seconds for seconds in expirations if seconds > 0]
        return Result(requeue_after_seconds=min(waits)) if waits else None


def build(context: ControllerContext) -> BootstrapSigner:
    """Construct the controller."""
    return BootstrapSigner(context)
