"""TLS context of a server: certificate, versions, and CAs of optional client certificates."""

from __future__ import annotations

import ssl
from pathlib import Path  # noqa: TC003 — msgspec evaluates the types of fields
from typing import Final

import msgspec

from steersman.asynckit.tls_policy import DEFAULT_POLICY, TLSPolicy

#: ``X509_V_FLAG_NO_CHECK_TIME`` of OpenSSL's x509_vfy.h, which ``ssl.VerifyFlags`` does not name.
_NO_CHECK_TIME: Final = 0x200000


class TLSFileError(ValueError):
    """Unusable certificate or key; the text names the file."""


class TLSFiles(msgspec.Struct, frozen=True):
    """Files of the certificate, its key and the CAs of client certificates, and the settings of handshakes."""

    certificate: Path
    key: Path
    client_cas: tuple[Path, ...] = ()
    policy: TLSPolicy = DEFAULT_POLICY
    #: Offered protocols, the preferred one first. Clients use h2 if it is offered.
    alpn: tuple[str, ...] = ("http/1.1",)


def tls_context(files: TLSFiles) -> ssl.SSLContext:
    """Return a context with the TLS policy, the ALPN protocols and optional client certificates.

    A client certificate that does not verify does not end the handshake, and the authenticator checks validity periods.
    No session tickets are issued, as a resumed session does not keep the chain. Raises ``TLSFileError``.
    """
    context = files.policy.create_context()
    load_cert_chain(context, files.certificate, files.key)
    context.set_alpn_protocols(list(files.alpn))
    context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    for ca in files.client_cas:
        context.verify_mode = ssl.CERT_OPTIONAL
        _load_ca(context, ca)
    return context


def load_cert_chain(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Load a certificate and its key into a context. Raises ``TLSFileError``."""
    for path in (certificate, key):
        _check_readable(path)
    try:
        context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        raise TLSFileError(f"cannot use the certificate {certificate} with the key {key}: {reason}") from error


def _load_ca(context: ssl.SSLContext, path: Path) -> None:
    _check_readable(path)
    try:
        context.load_verify_locations(path)
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        raise TLSFileError(f"cannot read a CA of client certificates from {path}: {reason}") from error


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise TLSFileError(f"cannot read {path}: {error.strerror or error}") from error
