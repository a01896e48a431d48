"""``certificatesigningrequest-approving-controller``: approves client certificates of kubelets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.authorization_v1 import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from lightkube.models.certificates_v1 import CertificateSigningRequest

from steersman.client.changes import Deleted
from steersman.controllers.certificates.issuing import Request
from steersman.controllers.certificates.plan import is_undecided, recognized, with_condition
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result, TerminalError

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext


class CSRApprovingController(ManagedController):
    """Reconciles CertificateSigningRequests by name."""

    name: ClassVar[str] = "certificatesigningrequest-approving-controller"
    queue_name: ClassVar[str] = "certificate"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=5)
        self._requests = self.watch(CertificateSigningRequest, when=lambda change: not isinstance(change, Deleted))

    async def reconcile(self, key: str) -> Result | None:
        """Approve the request as its recognized type, if its user has permission."""
        csr = self._requests.lister.get(key)
        if csr is None or not is_undecided(csr):
            return None
        try:
            requested = Request(csr.spec.request).attributes
        except ValueError as error:
            raise TerminalError(f'unable to parse csr "{key}": {error}') from error
        candidates = recognized(csr, requested)
        for candidate in candidates:
            if await self._may(csr, candidate.subresource):
                approved = with_condition(csr, "Approved", "AutoApproved", candidate.message)
                written = await self.client.update(approved, subresource="approval")
                self.own_writes.note(key, self._requests, written)
                return None
        # Retried: a later permission causes no event of the request.
        return Result(requeue=True) if candidates else None

    async def _may(self, csr: CertificateSigningRequest, subresource: str) -> bool:
        attributes = ResourceAttributes(
            group="certificates.k8s.io",
            resource="certificatesigningrequests",
            subresource=subresource,
            verb="create",
            version="*",
        )
        spec = SubjectAccessReviewSpec(
            user=csr.spec.username,
            uid=csr.spec.uid,
            groups=csr.spec.groups,
            extra=csr.spec.extra,
            resourceAttributes=attributes,
        )
        reviewed = await self.client.create(SubjectAccessReview(spec=spec))
        return reviewed.status is not None and reviewed.status.allowed


def build(context: ControllerContext) -> CSRApprovingController:
    """Construct the controller."""
    return CSRApprovingController(context)
