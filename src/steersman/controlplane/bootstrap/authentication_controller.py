"""Controller of the ConfigMap ``extension-apiserver-authentication``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.controlplane.bootstrap.authentication_config import CONFIG_MAPS, NAME, NAMESPACE
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.runtime.context import ControllerContext

#: Resync period, in case of missed events.
INTERVAL_SECONDS: Final = 60.0

_KEY: Final = f"{NAMESPACE}/{NAME}"


class AuthenticationController(Controller):
    """Reconciles one key, the ConfigMap."""

    name: ClassVar[str] = "cluster-authentication-info"

    def __init__(
        self,
        context: ControllerContext,
        publish: Callable[[], Awaitable[None]],
        *,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        """``publish`` adds the current settings to the live ConfigMap."""
        super().__init__(context)
        self._publish = publish
        self._interval_seconds = interval_seconds
        self.watch(CONFIG_MAPS, keys=lambda _: (_KEY,), namespace=NAMESPACE, field_selector=f"metadata.name={NAME}")

    async def start(self) -> None:
        """Enqueue the ConfigMap."""
        self.queue.add(_KEY)

    async def reconcile(self, key: str) -> Result | None:
        """Publish the settings."""
        await self._publish()
        return Result(requeue_after_seconds=self._interval_seconds)
