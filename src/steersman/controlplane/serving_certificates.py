"""Serving certificates of components: given files, or self-signed in a directory or in memory.

Upstream: ``SecureServingOptions.MaybeDefaultWithSelfSignedCerts``.
"""

from __future__ import annotations

import socket
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from steersman.asynckit.serving_tls import PemPair
from steersman.controlplane.files import write_private

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.runtime.serving_options import ServingOptions

_CA_LIFE: Final = timedelta(days=3650)
_LEAF_LIFE: Final = timedelta(days=365)
ANY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 — compared with, not bound


def read_or_make_pair(options: ServingOptions, component: str, *, now: datetime) -> PemPair:
    """Return the certificate of a component. Raises ``OSError``.

    Without files it is ``COMPONENT.crt`` and ``COMPONENT.key`` in ``--cert-dir``, which are created if one is missing;
    without a directory a certificate for this process.
    """
    if options.tls_cert_file:
        return PemPair(Path(options.tls_cert_file).read_bytes(), Path(options.tls_private_key_file).read_bytes())
    if not options.cert_dir:
        return make_self_signed(component, options.bind_address, now=now)
    directory = Path(options.cert_dir)
    certificate, key = directory / f"{component}.crt", directory / f"{component}.key"
    if not (certificate.exists() and key.exists()):
        pems = make_self_signed(component, options.bind_address, now=now)
        write_private(key, pems.key)
        write_private(certificate, pems.certificate)
    return PemPair(certificate.read_bytes(), key.read_bytes())


def make_self_signed(component: str, address: str, *, now: datetime) -> PemPair:
    """Return a certificate for this machine, followed by its own CA, whose key is dropped."""
    from steersman.asynckit import certificates  # noqa: PLC0415 — loads cryptography

    authority = certificates.make_ca(f"{component}-ca", now=now, life=_CA_LIFE)
    hosts = ["localhost", socket.gethostname(), "127.0.0.1", "::1"]
    if address and address not in ANY_ADDRESS:
        hosts.append(address)
    pems = certificates.make_server(component, list(dict.fromkeys(hosts)), authority, now=now, life=_LEAF_LIFE)
    return PemPair(pems.certificate + authority.certificate, pems.key)
