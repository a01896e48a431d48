"""``podcertificaterequest-cleaner-controller``: deletes PodCertificateRequests after a short retention (KEP-4317)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.certificates_v1beta1 import PodCertificateRequest

from steersman.client import custom
from steersman.client.changes import Added
from steersman.controllers.certificates.plan import seconds_to_pod_request_cleanup
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.client import ResourceType
    from steersman.controllers.context import ControllerContext

#: Beta and off by default in 1.36: served only with ``--runtime-config``.
REQUESTS: Final[ResourceType[PodCertificateRequest]] = custom(
    "certificates.k8s.io/v1beta1", "PodCertificateRequest", plural="podcertificaterequests", model=PodCertificateRequest
)


class PodRequestCleaner(ManagedController):
    """Reconciles PodCertificateRequests, each when its retention ends."""

    name: ClassVar[str] = "podcertificaterequest-cleaner-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._requests = self.watch(REQUESTS, when=lambda change: isinstance(change, Added))

    async def reconcile(self, key: str) -> Result | None:
        """Wait or delete."""
        request = self._requests.lister.by_key(key)
        if request is None:
            return None
        wait = seconds_to_pod_request_cleanup(request, now=self.clock.now())
        if wait > 0:
            return Result(requeue_after_seconds=wait)
        await self.delete_seen(request)
        return None


def build(context: ControllerContext) -> PodRequestCleaner:
    """Construct the controller."""
    return PodRequestCleaner(context)
