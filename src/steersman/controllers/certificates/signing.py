"""``certificatesigningrequest-signing-controller``: signs approved requests of the built-in signers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from lightkube.models.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestStatus

from steersman.client.changes import Deleted
from steersman.controllers.certificates.issuing import Authority, Request
from steersman.controllers.certificates.plan import (
    API_CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    LEGACY_UNKNOWN,
    is_to_be_signed,
    signer_fault,
    validity,
    with_condition,
)
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import TerminalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.controllers.context import ControllerContext
    from steersman.controllers.options import ControllerOptions

#: Signers → the part of their flags' names.
_FLAGS: Final = {
    KUBELET_SERVING: "kubelet_serving",
    KUBELET_CLIENT: "kubelet_client",
    API_CLIENT: "kube_apiserver_client",
    LEGACY_UNKNOWN: "legacy_unknown",
}


class CSRSigningController(ManagedController):
    """Reconciles CertificateSigningRequests by name."""

    name: ClassVar[str] = "certificatesigningrequest-signing-controller"
    queue_name: ClassVar[str] = "certificate"

    def __init__(self, context: ControllerContext, *, authorities: Mapping[str, Authority]) -> None:
        """``authorities``: by signer."""
        super().__init__(context, workers=5)
        self._authorities = authorities
        self._longest = timedelta(seconds=self.options.cluster_signing_duration_seconds)
        self._requests = self.watch(CertificateSigningRequest, when=lambda change: not isinstance(change, Deleted))

    async def reconcile(self, key: str) -> None:
        """Sign the request, or record why it cannot be signed."""
        csr = self._requests.lister.get(key)
        authority = self._authorities.get(csr.spec.signerName) if csr is not None else None
        if csr is None or authority is None or not is_to_be_signed(csr):
            return
        try:
            request = Request(csr.spec.request)
        except ValueError as error:
            raise TerminalError(f'unable to parse csr "{key}": {error}') from error
        usages = csr.spec.usages or []
        fault = signer_fault(csr.spec.signerName, request.attributes, usages)
        if fault:
            new = with_condition(csr, "Failed", "SignerValidationFailure", fault, now=self.now())
        else:
            life = validity(csr.spec.expirationSeconds, now=self.now(), longest=self._longest, ca=authority.validity)
            status = csr.status or CertificateSigningRequestStatus()
            certificate = authority.sign(request, usages, validity=life)
            new = msgspec.structs.replace(csr, status=msgspec.structs.replace(status, certificate=certificate))
        self.own_writes.note(key, self._requests, await self.client.update_status(new))


def authorities(options: ControllerOptions) -> dict[str, Authority]:
    """Return the CA of each signer: its own files or those for all. Raises OSError, ValueError."""
    authorities_by_signer: dict[str, Authority] = {}
    for signer, part in _FLAGS.items():
        certificate = getattr(options, f"cluster_signing_{part}_cert_file") or options.cluster_signing_cert_file
        key = getattr(options, f"cluster_signing_{part}_key_file") or options.cluster_signing_key_file
        if certificate and key:
            authorities_by_signer[signer] = Authority(Path(certificate).read_bytes(), Path(key).read_bytes())
    return authorities_by_signer


def build(context: ControllerContext) -> CSRSigningController | None:
    """Construct the controller; None without ``--cluster-signing-*`` files."""
    authorities_by_signer = authorities(context.options)
    return CSRSigningController(context, authorities=authorities_by_signer) if authorities_by_signer else None
