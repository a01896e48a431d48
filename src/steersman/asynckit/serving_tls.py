"""TLS contexts of HTTPS servers."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

from steersman.asynckit.tls_policy import DEFAULT_POLICY, TLSPolicy


class PemPair(NamedTuple):
    """A certificate with its chain, and its private key, in PEM."""

    certificate: bytes
    key: bytes


def make_context(pair: PemPair, client_ca: str, *, policy: TLSPolicy = DEFAULT_POLICY) -> ssl.SSLContext:
    """Return a context for HTTP/1.1 that asks for client certificates of ``client_ca`` (PEM) if there is one.

    A certificate that does not verify does not end the handshake: its connection has no verified chain.
    Raises ``ssl.SSLError`` for a pair or authorities that are not valid.
    """
    context = policy.create_context()
    context.set_alpn_protocols(["http/1.1"])
    with tempfile.TemporaryDirectory(prefix="steersman-serving-") as directory:  # OpenSSL reads pairs from files only
        path = Path(directory) / "pair.pem"
        path.touch(mode=0o600)
        path.write_bytes(pair.certificate + b"\n" + pair.key)
        context.load_cert_chain(path)
    if client_ca:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=client_ca)
        # Certificates of a resumed session are not verified again.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    return context
