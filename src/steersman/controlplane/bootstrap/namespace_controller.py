"""Controller that recreates system namespaces.

Upstream: ``pkg/controlplane/controller/systemnamespaces`` (every minute).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.client.workqueue import ItemExponentialFailureRateLimiter
from steersman.controlplane.bootstrap.create_namespaces import NAMESPACES, create_namespaces
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.runtime.context import ControllerContext

#: Period of the check without a change, and the longest wait after a failure.
INTERVAL_SECONDS: Final = 60.0

_FIRST_RETRY_SECONDS: Final = 1.0
_KEY: Final = "all"


class NamespaceController(Controller):
    """Controller that creates missing system namespaces, with one key for all of them."""

    name: ClassVar[str] = "system-namespaces"

    def __init__(
        self, context: ControllerContext, names: Iterable[str], *, interval_seconds: float = INTERVAL_SECONDS
    ) -> None:
        backoff = ItemExponentialFailureRateLimiter(
            base_delay_seconds=_FIRST_RETRY_SECONDS, max_delay_seconds=INTERVAL_SECONDS
        )
        super().__init__(context, rate_limiter=backoff)
        self._names = tuple(names)
        self._interval_seconds = interval_seconds
        self.watch(
            NAMESPACES,
            keys=lambda namespace: [_KEY] if namespace["metadata"]["name"] in self._names else [],
        )

    async def start(self) -> None:
        """Queue the first check."""
        self.queue.add(_KEY)

    async def reconcile(self, key: str) -> Result | None:
        """Create missing namespaces by a fresh list."""
        await create_namespaces(self.client, self._names)
        return Result(requeue_after_seconds=self._interval_seconds)
