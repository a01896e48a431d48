"""Validation of CertificateSigningRequests. Upstream: ``pkg/apis/certificates/validation``."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from steersman.apimachinery import field, names
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.pem import pem_blocks
from steersman.apiserver.kinds.shared.validation import check_all, repeat_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

APPROVAL: Final = ("Approved", "Denied")
#: Conditions that must have the status True and cannot be removed.
IRREVOCABLE: Final = (*APPROVAL, "Failed")

_SPEC: Final = field.Path("spec")
_CONDITIONS: Final = field.Path("status", "conditions")
_CERTIFICATE: Final = field.Path("status", "certificate")
_SECONDS_MIN: Final = 600
_SIGNER_FORM: Final = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
_SIGNER_DOMAIN_MAX_BYTES: Final = 253
#: A domain, and a path of a DNS label or subdomain.
_SIGNER_MAX_BYTES: Final = _SIGNER_DOMAIN_MAX_BYTES + 1 + 253 + 63 + 1
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def validate_request(obj: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate a request. Values that ``old`` has are accepted if later rules reject them."""
    spec = obj.get("spec") or {}
    before = (old.get("spec") or {}) if old is not None else None
    if before is None or before.get("request") != spec.get("request"):
        yield from _check_request(spec.get("request"), _SPEC.child("request"))
    yield from _check_usages(spec.get("usages") or (), before, _SPEC.child("usages"))
    signer = spec.get("signerName") or ""
    if signer == _LEGACY_SIGNER and (before is None or before.get("signerName") != signer):
        detail = "the legacy signerName is not allowed via this API version"
        yield field.invalid(_SPEC.child("signerName"), signer, detail)
    else:
        yield from _check_signer(signer, _SPEC.child("signerName"))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SECONDS_MIN:
        detail = f"may not specify a duration less than {_SECONDS_MIN} seconds ({_SECONDS_MIN // 60} minutes)"
        yield field.invalid(_SPEC.child("expirationSeconds"), seconds, detail)
    yield from _check_conditions((obj.get("status") or {}).get("conditions") or ())
    certificate = _certificate(obj)
    if certificate and (old is None or certificate != _certificate(old)):
        fault = _certificate_fault(certificate)
        if fault:
            yield field.invalid(_CERTIFICATE, "<certificate data>", fault)


def validate_request_update(
    obj: Tree, old: Tree, *, may_approve: bool = False, may_certify: bool = False
) -> Iterator[FieldError]:
    """Validate an update; each subresource may change only its part."""
    yield from validate_request(obj, old)
    for type_ in IRREVOCABLE:
        if len(_of_type(obj, type_)) < len(_of_type(old, type_)):
            detail = f"updates may not remove a condition of type {quote(type_)}"
            yield field.forbidden(_CONDITIONS, detail)
    for type_ in () if may_approve else APPROVAL:
        now, before = _of_type(obj, type_), _of_type(old, type_)
        if len(now) > len(before):
            yield field.forbidden(_CONDITIONS, f"updates may not add a condition of type {quote(type_)}")
        elif len(now) == len(before) and now != before:
            yield field.forbidden(_CONDITIONS, f"updates may not modify a condition of type {quote(type_)}")
    if _certificate(obj) != _certificate(old):
        if not may_certify:
            yield field.forbidden(_CERTIFICATE, "updates may not set certificate content")
        elif _certificate(old):
            yield field.forbidden(_CERTIFICATE, "updates may not modify existing certificate content")


def _of_type(obj: Tree, type_: str) -> list[Tree]:
    return [c for c in (obj.get("status") or {}).get("conditions") or () if c.get("type") == type_]


def _certificate(obj: Tree) -> str:
    certificate: str = (obj.get("status") or {}).get("certificate") or ""
    return certificate


def _check_request(request: str | None, path: Path) -> Iterator[FieldError]:
    block = next(pem_blocks(base64.b64decode(request or "")), None)
    if block is None or block.type != "CERTIFICATE REQUEST":
        yield field.invalid(path, request, "PEM block type must be CERTIFICATE REQUEST")
        return
    try:
        parsed = x509.load_der_x509_csr(base64.b64decode(block.body))
        fault = "" if parsed.is_signature_valid else "the signature does not fit the key"
    except (ValueError, UnsupportedAlgorithm) as error:
        fault = str(error)
    if fault:
        yield field.invalid(path, request, fault)


def _check_usages(usages: Sequence[str], before: Tree | None, path: Path) -> Iterator[FieldError]:
    if not usages:
        yield field.required(path)
    old_usages = (before or {}).get("usages") or ()
    lax_names = any(usage not in _USAGES for usage in old_usages)
    lax_repeats = len(set(old_usages)) < len(old_usages)
    for position, usage in enumerate(usages):
        if usage not in _USAGES and not lax_names:
            yield field.not_supported(path.index(position), usage, _USAGES)
    if not lax_repeats:
        for position in sorted(repeat_positions(usages)):
            yield field.duplicate(path.index(position), usages[position])


def _check_signer(name: str, path: Path) -> Iterator[FieldError]:
    if not name:
        yield field.required(path)
        return
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        yield field.invalid(path, name, _SIGNER_FORM)
        return
    if len(domain.encode()) > _SIGNER_DOMAIN_MAX_BYTES:
        yield field.too_long(path, max_bytes=_SIGNER_DOMAIN_MAX_BYTES)
    yield from _check_parts(domain, names.check_dns1123_label, path)
    if "." not in domain:
        yield field.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _check_parts(rest, names.check_dns1123_subdomain, path)
    if len(name.encode()) > _SIGNER_MAX_BYTES:
        yield field.too_long(path, max_bytes=_SIGNER_MAX_BYTES)


def _check_parts(text: str, check: Callable[[str], names.Faults], path: Path) -> Iterator[FieldError]:
    """Yield the error of the first invalid segment between dots."""
    for part in text.split("."):
        faults = check(part)
        yield from check_all(path, text, [f"validating label {quote(part)}: {fault}" for fault in faults])
        if faults:
            return


def _check_conditions(conditions: Sequence[Tree]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        item_path = _CONDITIONS.index(position)
        type_, status = condition.get("type") or "", condition.get("status") or ""
        if not type_:
            yield field.required(item_path.child("type"))
        allowed = ("True",) if type_ in IRREVOCABLE else ("False", "True", "Unknown")
        if not status:
            yield field.required(item_path.child("status"))
        elif status not in allowed:
            yield field.not_supported(item_path.child("status"), status, allowed)
        if type_ in APPROVAL and seen & set(APPROVAL) - {type_}:
            yield field.invalid(_CONDITIONS, type_, "Approved and Denied conditions are mutually exclusive")
        if type_ in seen:
            yield field.duplicate(item_path.child("type"), type_)
        seen.add(type_)


def _certificate_fault(encoded: str) -> str:
    """Return why the text is not a PEM chain of certificates; empty if it is."""
    blocks = list(pem_blocks(base64.b64decode(encoded)))
    for block in blocks:
        if block.type != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {quote(block.type)}"
        if b":" in block.body:
            return "no PEM block headers are permitted"
        try:
            x509.load_der_x509_certificate(base64.b64decode(block.body))
        except ValueError as error:
            return str(error)
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"
