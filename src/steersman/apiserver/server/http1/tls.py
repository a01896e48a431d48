"""TLS context of a server: certificate, versions, and CAs of optional client certificates."""

from __future__ import annotations

import ssl
from pathlib import Path  # noqa: TC003 — msgspec evaluates the types of fields
from typing import Final

import msgspec

#: ``X509_V_FLAG_NO_CHECK_TIME`` of OpenSSL's x509_vfy.h, which ``ssl.VerifyFlags`` does not name.
_NO_CHECK_TIME: Final = 0x200000


class TLSFileError(ValueError):
    """A certificate or key cannot be used; the text names the file."""


class TLSFiles(msgspec.Struct, frozen=True):
    """Files of the certificate, its key and the CAs of client certificates."""

    certificate: Path
    key: Path
    client_cas: tuple[Path, ...] = ()
    #: Oldest version of TLS that is accepted.
    minimum_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2


def tls_context(files: TLSFiles) -> ssl.SSLContext:
    """Return a context for TLS of the minimum version or newer, HTTP/1.1 and optional client certificates.

    The time of a client's certificate is left to the authenticator. A resumed session does not keep the chain that must
    be valid, so no tickets are issued. Raises ``TLSFileError``.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = files.minimum_version
    load_cert_chain(context, files.certificate, files.key)
    # Only what is served is offered: clients that find h2 here would speak it.
    context.set_alpn_protocols(["http/1.1"])
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
