"""Certificates of a test: an authority, and TLS contexts of clients that it signs."""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path

from steersman.asynckit.certificates import Pems, make_ca, make_client
from steersman.asynckit.clock import RealClock

_LIFE = timedelta(days=1)


def make_authority(name: str = "clients") -> Pems:
    """Return a certificate authority that is valid now."""
    return make_ca(name, now=RealClock().now(), life=_LIFE)


def client_context(
    directory: Path, authority: Pems | None = None, *, user: str = "", groups: tuple[str, ...] = ()
) -> ssl.SSLContext:
    """Return a context that accepts any server, with a client certificate of ``authority``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if authority is not None:
        pems = make_client(user, list(groups), authority, now=RealClock().now(), life=_LIFE)
        path = directory / f"{user}.pem"
        path.write_bytes(pems.certificate + pems.key)
        context.load_cert_chain(path)
    return context
