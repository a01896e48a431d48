"""``certificatesigningrequest-cleaner-controller``: deletes old requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.certificates_v1 import CertificateSigningRequest

from steersman.client.changes import Deleted
from steersman.controllers.certificates.issuing import certificate_end
from steersman.controllers.certificates.plan import seconds_to_cleanup
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext


class CSRCleanerController(ManagedController):
    """Reconciles CertificateSigningRequests by name, each when its retention ends."""

    name: ClassVar[str] = "certificatesigningrequest-cleaner-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._requests = self.watch(CertificateSigningRequest, when=lambda change: not isinstance(change, Deleted))

    async def reconcile(self, key: str) -> Result | None:
        """Wait or delete."""
        csr = self._requests.lister.get(key)
        if csr is None:
            return None
        end = certificate_end(csr.status.certificate if csr.status else None)
        wait = seconds_to_cleanup(csr, now=self.clock.now(), certificate_end=end)
        if wait is None:
            return None
        if wait > 0:
            return Result(requeue_after_seconds=wait)
        await self.delete_seen(csr)
        return None


def build(context: ControllerContext) -> CSRCleanerController:
    """Construct the controller."""
    return CSRCleanerController(context)
