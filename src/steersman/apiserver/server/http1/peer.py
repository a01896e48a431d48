"""Client side of a TLS connection as ASGI TLS extension, with the validity period of the client's certificate chain.

The handshake verifies a client's certificate against the CAs, but not its validity period (``tls.tls_context``): the
authenticator checks it per request. A certificate that is expired, or that does not verify, counts as no credential and
does not end the connection (``docs/decisions/0008-client-certificates.md``).
"""

from __future__ import annotations

import hashlib
import ssl
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.authn import distinguished_name
from steersman.asynckit.client_certificates import verified_chain

if TYPE_CHECKING:
    import asyncio

_TLS_VERSIONS: Final = {"TLSv1.2": 0x0303, "TLSv1.3": 0x0304}
#: ``ENCODING_DER`` of the private module ``_ssl``.
_DER: Final = 2
_NOT_VERIFIED: Final = "x509: certificate signed by unknown authority, or not for clients"
#: Validity of an unknown chain: never valid.
NEVER: Final[tuple[float, ...]] = (float("inf"), float("-inf"))


def address(transport: asyncio.Transport, name: str) -> tuple[str, int] | None:
    """Return host and port of one end of the connection (``peername`` or ``sockname``); None if unknown."""
    info = transport.get_extra_info(name)
    return (str(info[0]), int(info[1])) if isinstance(info, tuple) and len(info) >= 2 else None


def tls_extension(transport: asyncio.Transport) -> dict[str, Any]:
    """Return the ASGI TLS extension (https://asgi.readthedocs.io/en/latest/specs/tls.html); empty without TLS.

    Computed once per connection, without the server's own certificate. Two keys are added: ``client_cert_valid``, the
    first and last second since 1970 at which the whole chain is valid, and ``client_cert_authorities``, the SHA-256
    digests of its CA certificates.
    """
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        return {}
    certificate = tls.getpeercert(binary_form=True)
    chain = [ssl.DER_cert_to_PEM_cert(certificate)] if certificate else []
    verified = verified_chain(tls) if chain else []
    # Only certificates that verify are decoded further.
    subject = tls.getpeercert().get("subject", ()) if verified else ()
    extension = {
        "server_cert": None,
        "client_cert_chain": chain,
        "client_cert_name": distinguished_name.from_ssl(subject) if verified else None,
        "client_cert_error": _NOT_VERIFIED if chain and not verified else None,
        "client_cert_valid": validity([verified_certificate.get_info() for verified_certificate in verified])
        if chain
        else None,
        "client_cert_authorities": authorities(verified),
        "tls_version": _TLS_VERSIONS.get(tls.version()),
        "cipher_suite": None,
    }
    return {"tls": extension}


def validity(chain: list[dict[str, Any]]) -> tuple[float, ...]:
    """Return the period in which all certificates of a chain are valid; ``NEVER`` for an empty chain."""
    if not chain:
        return NEVER
    return (
        max(ssl.cert_time_to_seconds(certificate["notBefore"]) for certificate in chain),
        min(ssl.cert_time_to_seconds(certificate["notAfter"]) for certificate in chain),
    )


def authorities(chain: list[Any]) -> frozenset[str]:
    """Return the SHA-256 digests of a chain without the client's own certificate, unless it is the only one."""
    return frozenset(hashlib.sha256(certificate.public_bytes(_DER)).hexdigest() for certificate in chain[1:] or chain)
