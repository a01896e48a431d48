"""Rules of the built-in signers, and the lifecycle of requests. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec
from lightkube.models.certificates_v1 import CertificateSigningRequestCondition, CertificateSigningRequestStatus

from steersman.client.objects import metadata_field

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lightkube.models.certificates_v1 import CertificateSigningRequest
    from lightkube.models.certificates_v1beta1 import PodCertificateRequest

KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
API_CLIENT: Final = "kubernetes.io/kube-apiserver-client"
LEGACY_UNKNOWN: Final = "kubernetes.io/legacy-unknown"

_NODES: Final = "system:nodes"
_NODE_PREFIX: Final = "system:node:"
_CLIENT_USAGES: Final = frozenset({"digital signature", "client auth"})
_SERVER_USAGES: Final = frozenset({"digital signature", "server auth"})
_KEY_ENCIPHERMENT: Final = "key encipherment"

#: Retention of requests by their condition.
_DONE_LIFE: Final = timedelta(hours=1)
_PENDING_LIFE: Final = timedelta(hours=24)
_POD_REQUEST_LIFE: Final = timedelta(minutes=15)
#: ``notBefore`` is backdated, for clients with a slow clock.
BACKDATE: Final = timedelta(minutes=5)
#: Shorter durations start now, without backdating.
_SHORT: Final = timedelta(hours=8)
_LIFE_MIN: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class RequestAttributes:
    """Attributes of a decoded request."""

    common_name: str = ""
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    ip_addresses: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecognizedRequest:
    """A request that is approved if its user may create the subresource in a SubjectAccessReview."""

    subresource: str
    message: str


def kubelet_client_fault(requested: RequestAttributes, usages: Collection[str]) -> str:
    """Return why this is no valid kubelet client certificate; empty if it is."""
    if list(requested.organizations) != [_NODES]:
        return "subject organization is not system:nodes"
    for values, text in (
        (requested.dns_names, "DNS subjectAltNames are not allowed"),
        (requested.emails, "Email subjectAltNames are not allowed"),
        (requested.ip_addresses, "IP subjectAltNames are not allowed"),
        (requested.uris, "URI subjectAltNames are not allowed"),
    ):
        if values:
            return text
    if not requested.common_name.startswith(_NODE_PREFIX):
        return "subject common name does not begin with system:node:"
    if not _exactly(usages, _CLIENT_USAGES):
        return "usages did not match [client auth digital signature key encipherment]"
    return ""


def kubelet_serving_fault(requested: RequestAttributes, usages: Collection[str]) -> str:
    """Return why this is no valid kubelet serving certificate; empty if it is."""
    if list(requested.organizations) != [_NODES]:
        return "subject organization is not system:nodes"
    if not (requested.dns_names or requested.ip_addresses):
        return "DNS or IP subjectAltName is required"
    if requested.emails:
        return "Email subjectAltNames are not allowed"
    if requested.uris:
        return "URI subjectAltNames are not allowed"
    if not _exactly(usages, _SERVER_USAGES):
        return "usages did not match [digital signature key encipherment server auth]"
    if not requested.common_name.startswith(_NODE_PREFIX):
        return "subject common name does not begin with system:node:"
    return ""


def api_client_fault(usages: Iterable[str]) -> str:
    """Return why the usages are invalid for an API server client; empty if they are valid."""
    listed = list(usages)
    for usage in listed:
        if usage not in _CLIENT_USAGES and usage != _KEY_ENCIPHERMENT:
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in listed else "missing required usage for client certificate: client auth"


def signer_fault(signer: str, requested: RequestAttributes, usages: Collection[str]) -> str:
    """Return why a signer refuses a request; empty if it is accepted."""
    match signer:
        case "kubernetes.io/kubelet-serving":
            return kubelet_serving_fault(requested, usages)
        case "kubernetes.io/kube-apiserver-client-kubelet":
            return kubelet_client_fault(requested, usages)
        case "kubernetes.io/kube-apiserver-client":
            return api_client_fault(usages)
    return ""


def recognized(csr: CertificateSigningRequest, requested: RequestAttributes) -> list[RecognizedRequest]:
    """Return the approvals that apply to a request, the more specific permission first."""
    if csr.spec.signerName != KUBELET_CLIENT or kubelet_client_fault(requested, csr.spec.usages or ()):
        return []
    signers = []
    if csr.spec.username == requested.common_name:
        message = "Auto approving self kubelet client certificate after SubjectAccessReview."
        signers.append(RecognizedRequest("selfnodeclient", message))
    message = "Auto approving kubelet client certificate after SubjectAccessReview."
    return [*signers, RecognizedRequest("nodeclient", message)]


def is_undecided(csr: CertificateSigningRequest) -> bool:
    """Report whether a request is neither approved, denied nor signed."""
    return not (_has(csr, "Approved") or _has(csr, "Denied") or is_issued(csr))


def is_to_be_signed(csr: CertificateSigningRequest) -> bool:
    """Report whether a request is approved but neither signed nor failed."""
    return _has(csr, "Approved") and not (_has(csr, "Denied") or _has(csr, "Failed") or is_issued(csr))


def is_issued(csr: CertificateSigningRequest) -> bool:
    """Report whether the certificate is issued."""
    return bool(csr.status and csr.status.certificate)


def with_condition(
    csr: CertificateSigningRequest, type_: str, reason: str, message: str, *, now: datetime | None = None
) -> CertificateSigningRequest:
    """Return the request with an added condition of status ``True``."""
    status = csr.status or CertificateSigningRequestStatus()
    certificate_signing_request_condition = CertificateSigningRequestCondition(
        type=type_, status="True", reason=reason, message=message, lastUpdateTime=now
    )
    conditions = [*(status.conditions or ()), certificate_signing_request_condition]
    return msgspec.structs.replace(csr, status=msgspec.structs.replace(status, conditions=conditions))


def validity(
    expiration_seconds: int | None, *, now: datetime, longest: timedelta, ca: tuple[datetime, datetime]
) -> tuple[datetime, datetime]:
    """Return ``notBefore`` and ``notAfter`` of a certificate; ``ca``: those of its issuer.

    Raises ValueError for an expired CA.
    """
    life = longest
    if expiration_seconds is not None:
        life = min(longest, max(_LIFE_MIN, timedelta(seconds=expiration_seconds)))
    if now >= ca[1]:
        raise ValueError(f"the signer has expired: NotAfter={ca[1]}")
    start = now - BACKDATE
    end = now + life if life < _SHORT else start + life
    return max(start, ca[0]), min(end, ca[1])


def seconds_to_cleanup(
    csr: CertificateSigningRequest, *, now: datetime, certificate_end: datetime | None
) -> float | None:
    """Return the seconds until a request is deleted, 0 or less: now. ``certificate_end``: when its certificate expires."""
    created = metadata_field(csr, "creationTimestamp")
    due: list[datetime] = []
    conditions = (csr.status.conditions if csr.status else None) or ()
    for condition in conditions:
        counts = condition.type in ("Denied", "Failed") or (condition.type == "Approved" and is_issued(csr))
        if counts and condition.lastUpdateTime is not None:
            due.append(condition.lastUpdateTime + _DONE_LIFE)
    pending = not conditions or (_has(csr, "Approved") and not is_issued(csr))
    if pending and created is not None:
        due.append(created + _PENDING_LIFE)
    if certificate_end is not None:
        due.append(certificate_end)
    return (min(due) - now).total_seconds() if due else None


def seconds_to_pod_request_cleanup(request: PodCertificateRequest, *, now: datetime) -> float:
    """Return the seconds until a PodCertificateRequest is deleted, 0 or less: now, whatever its conditions."""
    created: datetime = metadata_field(request, "creationTimestamp")
    return (created + _POD_REQUEST_LIFE - now).total_seconds()


def _exactly(usages: Collection[str], needed: frozenset[str]) -> bool:
    return set(usages) in (needed, needed | {_KEY_ENCIPHERMENT})


def _has(csr: CertificateSigningRequest, type_: str) -> bool:
    return any(condition.type == type_ for condition in (csr.status.conditions if csr.status else None) or ())
