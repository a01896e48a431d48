"""Preparation of the fork server for its children: certificates, TLS contexts, and snapshots of new clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.authn.client_certificate import digests_of
from steersman.apiserver.proxying.connections import client_tls
from steersman.apiserver.server.http1.tls import TLSFiles, load_cert_chain, tls_context
from steersman.asynckit.clock import RealClock
from steersman.controlplane.bootstrap.public_address import public_address
from steersman.controlplane.options import APIServerOptions
from steersman.testing.clock import EPOCH
from steersman.testing.host.pki import SharedPKI, make_shared_pki
from steersman.testing.host.snapshots import ClusterSnapshot  # noqa: TC001 — field of a struct

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

_DEFAULTS: Final = APIServerOptions()


class Prepared(msgspec.Struct, frozen=True):
    """State that every child inherits."""

    shared: SharedPKI
    serving_tls: ssl.SSLContext
    kubelet_tls: ssl.SSLContext
    #: Digests of the authorities of client certificates.
    client_authorities: frozenset[str]
    front_proxy_authorities: frozenset[str]
    #: Address in the Endpoints ``kubernetes``; empty if absent.
    public_address: str
    #: Snapshots of new clusters at ``EPOCH``, by ``ClusterOptions.is_whole``.
    snapshots: dict[bool, ClusterSnapshot] = {}


def prepare(directory: Path) -> Prepared:
    """Create certificates in ``directory``."""
    earliest = min(EPOCH, RealClock().now())
    shared = make_shared_pki(directory, service_cluster_ip_range=_DEFAULTS.service_cluster_ip_range, earliest=earliest)
    pki = shared.pki
    kubelet_tls = client_tls()
    load_cert_chain(kubelet_tls, pki.kubelet_client.certificate, pki.kubelet_client.key)
    files = TLSFiles(pki.server.certificate, pki.server.key, (pki.ca.certificate, pki.front_proxy_ca.certificate))
    return Prepared(
        shared,
        tls_context(files),
        kubelet_tls,
        digests_of(pki.ca.certificate.read_text()),
        digests_of(pki.front_proxy_ca.certificate.read_text()),
        public_address(_DEFAULTS),
    )
