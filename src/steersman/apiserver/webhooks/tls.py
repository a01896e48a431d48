"""TLS to webhooks: the trusted authorities, verification of host names, and errors in the words of Go's crypto/x509."""

from __future__ import annotations

import re
import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERIFICATION: Final = "tls: failed to verify certificate: x509: "
_UNKNOWN_AUTHORITY: Final = "certificate signed by unknown authority"
#: OpenSSL's ``X509_V_ERR_*`` that are not an unknown authority.
_VERIFY_ERRORS: Final = {
    9: "certificate has expired or is not yet valid",
    10: "certificate has expired or is not yet valid",
    24: "certificate signed by unknown authority",
    26: "certificate specifies an incompatible key usage",
}
_LABEL: Final = re.compile(r"[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?", re.ASCII)


class CABundleError(ValueError):
    """A CA bundle without a certificate."""


class HostNameError(Exception):
    """The certificate is for another host."""


def tls_context(ca_bundle: bytes) -> ssl.SSLContext:
    """Return a client context that trusts the bundle, or the system's authorities if it is empty.

    Host names are checked by ``verify_host`` after the handshake, for the sake of its error texts. Raises
    ``CABundleError``.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As in Go, every certificate of the bundle is trusted, self-signed or not.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    if not ca_bundle:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=ca_bundle.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise CABundleError("unable to load root certificates: unable to parse bytes as PEM block") from None
    return context


def verify_host(certificate: Mapping[str, Any], host: str) -> None:
    """Raise ``HostNameError`` unless a subject alternative name of the certificate is ``host``.

    ``certificate``: as ``ssl.SSLSocket.getpeercert`` returns it. Upstream: ``Certificate.VerifyHostname`` of Go.
    """
    names = certificate.get("subjectAltName") or ()
    dns = [value for kind, value in names if kind == "DNS"]
    addresses = [value for kind, value in names if kind == "IP Address"]
    address = _address(host)
    if address is not None:
        if address in map(_address, addresses):
            return
        if not addresses:
            text = f"cannot validate certificate for {host} because it doesn't contain any IP SANs"
            raise HostNameError(f"{_VERIFICATION}{text}")
        raise HostNameError(f"{_VERIFICATION}certificate is valid for {', '.join(addresses)}, not {host}")
    if any(_matches(pattern, host) for pattern in dns):
        return
    if dns:
        raise HostNameError(f"{_VERIFICATION}certificate is valid for {', '.join(dns)}, not {host}")
    has_common_name = any(key == "commonName" for part in certificate.get("subject") or () for key, _ in part)
    if has_common_name and not names:
        raise HostNameError(f"{_VERIFICATION}certificate relies on legacy Common Name field, use SANs instead")
    raise HostNameError(f"{_VERIFICATION}certificate is not valid for any names, but wanted to match {host}")


def _address(text: str) -> Any:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None


def _matches(pattern: str, host: str) -> bool:
    """True if a DNS name of a certificate matches; ``*`` stands for the whole first label only."""
    pattern_labels, host_labels = pattern.lower().split("."), host.lower().removesuffix(".").split(".")
    if len(pattern_labels) != len(host_labels) or not all(map(_LABEL.fullmatch, host_labels)):
        return False
    if pattern_labels[0] == "*" and len(pattern_labels) > 1:
        pattern_labels, host_labels = pattern_labels[1:], host_labels[1:]
    return pattern_labels == host_labels


def tls_error_text(error: ssl.SSLError) -> str:
    """Return the text of a failed handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _VERIFICATION + _VERIFY_ERRORS.get(error.verify_code, _UNKNOWN_AUTHORITY)
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "http: server gave HTTP response to HTTPS client"
    return f"remote error: tls: {(error.reason or 'handshake failure').lower().replace('_', ' ')}"
