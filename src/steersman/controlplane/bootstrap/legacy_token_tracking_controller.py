"""Controller of the ConfigMap ``kube-apiserver-legacy-service-account-token-tracking``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.controlplane.bootstrap.legacy_token_tracking import CONFIG_MAPS, NAME, NAMESPACE, track
from steersman.runtime.controller import Controller

if TYPE_CHECKING:
    from steersman.runtime.context import ControllerContext

_KEY: Final = f"{NAMESPACE}/{NAME}"


class LegacyTokenTrackingController(Controller):
    """Recreates the ConfigMap when it is deleted, and repairs its date."""

    name: ClassVar[str] = "legacy-token-tracking"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.watch(CONFIG_MAPS, keys=lambda _: (_KEY,), namespace=NAMESPACE, field_selector=f"metadata.name={NAME}")

    async def start(self) -> None:
        """Reconcile once at the start."""
        self.queue.add(_KEY)

    async def reconcile(self, key: str) -> None:
        """Write the ConfigMap unless it holds a date."""
        del key
        await track(self.client, self.clock.now().date())
