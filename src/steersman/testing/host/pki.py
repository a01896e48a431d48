"""Certificates of all clusters of a fork server, valid in real and virtual time.

Virtual time may begin before the real time and advance by years, so the certificates live longer than those of
``controlplane.pki``.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path  # noqa: TC003 — field of a struct
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.authn import keys
from steersman.asynckit import certificates
from steersman.controlplane.files import write_private
from steersman.controlplane.pki import ADMIN, FRONT_PROXY_CLIENT, KUBELET_CLIENT, PKI, KeyPair, server_names

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.asynckit.certificates import Pems

_LIFE: Final = timedelta(days=20 * 365)
_MASTERS: Final = "system:masters"


class SharedPKI(msgspec.Struct, frozen=True):
    """Certificates and the key of service account tokens."""

    pki: PKI
    account_key: Path


def make_shared_pki(directory: Path, *, service_cluster_ip_range: str, earliest: datetime) -> SharedPKI:
    """Create all files in ``directory``; they are valid from ``earliest``."""

    def write(name: str, pems: Pems) -> KeyPair:
        pair = KeyPair(directory / f"{name}.crt", directory / f"{name}.key")
        write_private(pair.key, pems.key)
        write_private(pair.certificate, pems.certificate)
        return pair

    make_server = partial(certificates.make_server, now=earliest, life=_LIFE)
    make_client = partial(certificates.make_client, now=earliest, life=_LIFE)
    ca = certificates.make_ca("kubernetes", now=earliest, life=_LIFE)
    front_proxy_ca = certificates.make_ca("front-proxy-ca", now=earliest, life=_LIFE)
    hosts = server_names(service_cluster_ip_range)
    loopback = ["localhost", "127.0.0.1", "::1"]
    pki = PKI(
        ca=write("ca", ca),
        server=write("apiserver", make_server("kube-apiserver", hosts, ca)),
        admin=write("admin", make_client(ADMIN, [_MASTERS], ca)),
        front_proxy_ca=write("front-proxy-ca", front_proxy_ca),
        front_proxy_client=write("front-proxy-client", make_client(FRONT_PROXY_CLIENT, [], front_proxy_ca)),
        kubelet_client=write("apiserver-kubelet-client", make_client(KUBELET_CLIENT, [_MASTERS], ca)),
        kubelet=write("kubelet", make_server("kubelet", loopback, ca)),
    )
    account_key = directory / "sa.key"
    write_private(account_key, keys.new_private_key().pem())
    return SharedPKI(pki, account_key)
