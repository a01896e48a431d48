"""``CertificateApproval``, ``CertificateSigning``, ``CertificateSubjectRestriction``, ``ClusterTrustBundleAttest``: permissions on certificate
signers.

Approving or signing a request requires a permission on its signer beside that on the request.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.authz.pending import with_decisions
from steersman.apiserver.request import RequestInfo

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.request import UserInfo
    from steersman.schema.resources import Resource


_TRUST_BUNDLES: Final = "clustertrustbundles.certificates.k8s.io"
_COLLECTION_FIELDS: Final = frozenset({"ownerReferences", "finalizers", "managedFields"})
_REQUESTS: Final = "certificatesigningrequests.certificates.k8s.io"
#: Signer of client certificates for this API server.
CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
_MASTERS: Final = "system:masters"


class _SignerPlugin(Plugin):
    """Permission check on the signer for updates of one subresource."""

    subresource: ClassVar[str]
    verb: ClassVar[str]

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer: Final = authorizer

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for updates of signing requests through the subresource."""
        is_handled = resource.group_resource == _REQUESTS and subresource == self.subresource
        return is_handled and operation is Operation.UPDATE

    async def check(self, attributes: Attributes) -> None:
        """Raise 403 without the permission on the stored request's signer, which is immutable."""
        old = attributes.old_object or {}
        signer = (old.get("spec") or {}).get("signerName") or ""
        if not await may_use_signer(self._authorizer, attributes.user, self.verb, signer):
            raise attributes.forbidden(f"user not permitted to {self.verb} requests with signerName {quote(signer)}")


class CertificateApproval(_SignerPlugin):
    """Require ``approve`` on the signer to approve or deny."""

    name: ClassVar[str] = "CertificateApproval"
    subresource = "approval"
    verb = "approve"

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 without the permission."""
        await self.check(attributes)


class CertificateSigning(_SignerPlugin):
    """Require ``sign`` on the signer to issue a certificate or set conditions."""

    name: ClassVar[str] = "CertificateSigning"
    subresource = "status"
    verb = "sign"

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 without the permission, unless certificate and conditions are unchanged."""
        if _issued(attributes.object) != _issued(attributes.old_object):
            await self.check(attributes)


class ClusterTrustBundleAttest(Plugin):
    """Require ``attest`` on the signer to write a ClusterTrustBundle that names one.

    Upstream: plugin/pkg/admission/certificates/ctbattest/admission.go
    """

    name: ClassVar[str] = "ClusterTrustBundleAttest"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer: Final = authorizer

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of ClusterTrustBundles."""
        return resource.group_resource == _TRUST_BUNDLES and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 without the permission, unless an update changes owners, finalizers and managed fields only."""
        signer = ((attributes.object or {}).get("spec") or {}).get("signerName") or ""
        if not signer or _without_collection_fields(attributes.object) == _without_collection_fields(
            attributes.old_object
        ):
            return
        if not await may_use_signer(self._authorizer, attributes.user, "attest", signer):
            raise attributes.forbidden(f"user not permitted to attest for signerName {quote(signer)}")


def _without_collection_fields(obj: Tree | None) -> Tree | None:
    """Return an object without the metadata that garbage collection changes. Upstream: ``IsOnlyMutatingGCFields``."""
    if obj is None:
        return None
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTION_FIELDS}
    return {**obj, "metadata": metadata}


class CertificateSubjectRestriction(Plugin):
    """Reject requests for client certificates of the group ``system:masters``."""

    name: ClassVar[str] = "CertificateSubjectRestriction"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of signing requests."""
        return resource.group_resource == _REQUESTS and not subresource and operation is Operation.CREATE

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 for the restricted group."""
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
    """Return the organizations (groups) in the subject of a base64-encoded PEM request. Raises ValueError."""
    return _of_subject(request, "ORGANIZATION_NAME")


def common_name(request: str) -> str:
    """Return the common name (user) of a base64-encoded PEM request; empty without one. Raises ValueError."""
    return next(iter(_of_subject(request, "COMMON_NAME")), "")


def _of_subject(request: str, part: str) -> list[str]:
    from cryptography import x509  # noqa: PLC0415 — most servers never see a signing request

    subject = x509.load_pem_x509_csr(base64.b64decode(request)).subject
    return [str(attribute.value) for attribute in subject.get_attributes_for_oid(getattr(x509.NameOID, part))]


async def may_use_signer(authorizer: Authorizer, user: UserInfo, verb: str, signer: str) -> bool:
    """True if the user has the verb on the signer, or on all signers of its domain (``example.com/*``)."""
    domain = signer.partition("/")[0]
    for name in (signer, f"{domain}/*"):
        decision = await with_decisions(authorizer.authorize, user, _request_info(verb, name))
        if decision.allowed:
            return True
    return False


def _request_info(verb: str, signer: str) -> RequestInfo:
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
