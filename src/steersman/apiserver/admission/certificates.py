"""``CertificateApproval``, ``CertificateSigning``, ``CertificateSubjectRestriction``: who may have certificates signed.

Who decides on a signing request, or signs one, needs a right on its signer beside that on the request.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.request import RequestInfo

if TYPE_CHECKING:
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.request import UserInfo
    from steersman.schema.resources import Resource

    Tree = dict[str, Any]

_REQUESTS: Final = "certificatesigningrequests.certificates.k8s.io"
#: Signs what this server takes as a client's certificate.
CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
_MASTERS: Final = "system:masters"


class _SignerPlugin(Plugin):
    """Writes of one subresource need a right on the signer."""

    subresource: ClassVar[str]
    verb: ClassVar[str]

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer: Final = authorizer

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Updates of signing requests through the subresource."""
        is_ours = resource.group_resource == _REQUESTS and subresource == self.subresource
        return is_ours and operation is Operation.UPDATE

    def check(self, attributes: Attributes) -> None:
        """Raises 403. The stored request says which signer it is: a write cannot change it."""
        old = attributes.old_object or {}
        signer = (old.get("spec") or {}).get("signerName") or ""
        if not may_use_signer(self._authorizer, attributes.user, self.verb, signer):
            raise attributes.forbidden(f"user not permitted to {self.verb} requests with signerName {quote(signer)}")


class CertificateApproval(_SignerPlugin):
    """Who approves or denies must be allowed to ``approve`` for the signer."""

    name: ClassVar[str] = "CertificateApproval"
    subresource = "approval"
    verb = "approve"

    async def validate(self, attributes: Attributes) -> None:
        """Raises 403."""
        self.check(attributes)


class CertificateSigning(_SignerPlugin):
    """Who issues a certificate, or says why not, must be allowed to ``sign`` for the signer."""

    name: ClassVar[str] = "CertificateSigning"
    subresource = "status"
    verb = "sign"

    async def validate(self, attributes: Attributes) -> None:
        """Raises 403, unless neither certificate nor conditions change."""
        if _issued(attributes.object) != _issued(attributes.old_object):
            self.check(attributes)


class CertificateSubjectRestriction(Plugin):
    """Nobody gets a client's certificate for the group that may do everything."""

    name: ClassVar[str] = "CertificateSubjectRestriction"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """New signing requests."""
        return resource.group_resource == _REQUESTS and not subresource and operation is Operation.CREATE

    async def validate(self, attributes: Attributes) -> None:
        """Raises 403."""
        spec = (attributes.object or {}).get("spec") or {}
        if spec.get("signerName") != CLIENT_SIGNER:
            return
        try:
            groups = organizations(spec.get("request") or "")
        except ValueError as error:
            raise attributes.forbidden(f"failed to parse CSR: {error}") from None
        if _MASTERS in groups:
            raise attributes.forbidden(f"use of {CLIENT_SIGNER} signer with {_MASTERS} group is not allowed")


def organizations(request: str) -> list[str]:
    """The groups that a PEM request in base64 asks for. Raises ValueError."""
    return _of_subject(request, "ORGANIZATION_NAME")


def common_name(request: str) -> str:
    """The user that a PEM request in base64 asks for, empty for none. Raises ValueError."""
    return next(iter(_of_subject(request, "COMMON_NAME")), "")


def _of_subject(request: str, part: str) -> list[str]:
    from cryptography import x509  # noqa: PLC0415 — most servers never see a signing request

    subject = x509.load_pem_x509_csr(base64.b64decode(request)).subject
    return [str(each.value) for each in subject.get_attributes_for_oid(getattr(x509.NameOID, part))]


def may_use_signer(authorizer: Authorizer, user: UserInfo, verb: str, signer: str) -> bool:
    """Whether somebody may do this for a signer, or for all signers of its domain (``example.com/*``)."""
    domain = signer.partition("/")[0]
    return any(authorizer.authorize(user, _asked(verb, name)).allowed for name in (signer, f"{domain}/*"))


def _asked(verb: str, signer: str) -> RequestInfo:
    return RequestInfo(
        verb=verb,
        path="",
        is_resource=True,
        group="certificates.k8s.io",
        version="*",
        resource="signers",
        name=signer,
    )


def _issued(obj: Tree | None) -> tuple[str, list[Tree]]:
    status = (obj or {}).get("status") or {}
    return status.get("certificate") or "", status.get("conditions") or []
