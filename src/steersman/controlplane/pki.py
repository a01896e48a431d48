"""Certificates of the control plane: CA, server, admin, connections to kubelets, and the front-proxy CA with the client
certificate for aggregated API servers. Created on first start, renewed before they expire.

``cryptography`` is imported only to create certificates. Their contents are also recorded in ``<name>.json``, so that a start
can check them without it.
"""

from __future__ import annotations

import logging
import socket
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.files import write_private

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.asynckit.certificates import Pems

_log = logging.getLogger(__name__)

_CA_LIFE: Final = timedelta(days=3650)
_LEAF_LIFE: Final = timedelta(days=365)
#: Remaining lifetime at which a certificate is renewed.
_RENEW_BEFORE: Final = timedelta(days=30)

ADMIN: Final = "kubernetes-admin"
ADMIN_STEM: Final = "admin"
#: CA of the aggregator's client certificate only.
_FRONT_PROXY_STEM: Final = "front-proxy-ca"
#: Client name for aggregated API servers, default of ``--requestheader-allowed-names``, and its file name.
FRONT_PROXY_CLIENT: Final = "front-proxy-client"
_FRONT_PROXY_CLIENT_STEM: Final = "front-proxy-client"
_MASTERS: Final = "system:masters"
#: Name of the server for kubelets, and the file name of that certificate without suffix.
KUBELET_CLIENT: Final = "kube-apiserver-kubelet-client"
_KUBELET_CLIENT_STEM: Final = "apiserver-kubelet-client"
_KUBELET_STEM: Final = "kubelet"
_LOOPBACK: Final = ["localhost", "127.0.0.1", "::1"]
#: File names of client certificates; all others are for servers.
_CLIENTS: Final = {
    ADMIN_STEM: ADMIN,
    _KUBELET_CLIENT_STEM: KUBELET_CLIENT,
    _FRONT_PROXY_CLIENT_STEM: FRONT_PROXY_CLIENT,
}


class KeyPair(msgspec.Struct, frozen=True):
    """Paths of a certificate and its key."""

    certificate: Path
    key: Path


class PKI(msgspec.Struct, frozen=True):
    """Certificates that a self-contained API server needs."""

    ca: KeyPair
    server: KeyPair
    admin: KeyPair
    front_proxy_ca: KeyPair
    front_proxy_client: KeyPair
    #: The server's client certificate for kubelets; and the serving certificate of the simulated nodes' kubelet.
    kubelet_client: KeyPair
    kubelet: KeyPair


class _Facts(msgspec.Struct):
    """Contents of a certificate that a start checks."""

    not_after: datetime
    #: Host names and addresses of a server, organizations of a client.
    names: list[str]
    #: Serial number of the CA that signed it.
    issuer: str = ""


def server_names(service_cluster_ip_range: str, *more: str) -> list[str]:
    """Return the names by which clients reach the server: as a Service, on this machine, and ``more``."""
    first_service_ips = [ip_network(text.strip())[1] for text in service_cluster_ip_range.split(",")]
    names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
        socket.gethostname(),
        "127.0.0.1",
        "::1",
        *map(str, first_service_ips),
        *(name for name in more if name and name not in ("0.0.0.0", "::")),  # noqa: S104 — left out here
    ]
    return list(dict.fromkeys(names))


class PKIError(ValueError):
    """The CA of an earlier start is unusable; the message names the file and the remedy."""


def ensure_pki(directory: Path, names: list[str], *, now: datetime) -> PKI:
    """Return the certificates in ``directory``, created or renewed where needed.

    Leaf certificates with missing files are reissued. A CA is not, since every client that trusts it would need the
    new one. Raises ``PKIError`` for a CA with missing or unreadable files, ``OSError``.
    """
    pki = PKI(
        ca=_pair(directory, "ca"),
        server=_pair(directory, "apiserver"),
        admin=_pair(directory, ADMIN_STEM),
        front_proxy_ca=_pair(directory, _FRONT_PROXY_STEM),
        front_proxy_client=_pair(directory, _FRONT_PROXY_CLIENT_STEM),
        kubelet_client=_pair(directory, _KUBELET_CLIENT_STEM),
        kubelet=_pair(directory, _KUBELET_STEM),
    )
    # Leaves of an old CA are reissued: their facts name another issuer.
    ca = _ensure_ca(pki.ca, now)
    front_proxy_ca = _ensure_ca(pki.front_proxy_ca, now)
    leaves: tuple[tuple[KeyPair, list[str], KeyPair, str], ...] = (
        (pki.server, names, pki.ca, ca.issuer),
        (pki.admin, [_MASTERS], pki.ca, ca.issuer),
        (pki.kubelet_client, [_MASTERS], pki.ca, ca.issuer),
        (pki.kubelet, _LOOPBACK, pki.ca, ca.issuer),
        (pki.front_proxy_client, [], pki.front_proxy_ca, front_proxy_ca.issuer),
    )
    for pair, stored_pair, authority, issuer in leaves:
        facts = _facts(pair)
        if (
            facts is None
            or facts.issuer != issuer
            or facts.names != stored_pair
            or facts.not_after - now < _RENEW_BEFORE
        ):
            _make(pair, stored_pair, now, ca=authority, issuer=issuer)
    return pki


def _pair(directory: Path, name: str) -> KeyPair:
    return KeyPair(directory / f"{name}.crt", directory / f"{name}.key")


def _ensure_ca(pair: KeyPair, now: datetime) -> _Facts:
    if not pair.certificate.exists() and not _facts_path(pair).exists():
        return _make(pair, [], now)  # also if an earlier start was interrupted before it wrote the certificate
    facts = _facts(pair)
    if facts is None or not (_is_pem(pair.certificate) and _is_pem(pair.key)):
        facts = _recovered_facts(pair)
    if facts.not_after - now < _LEAF_LIFE:
        _log.warning("the CA in %s is replaced, as it expires on %s", pair.certificate, facts.not_after.date())
        return _make(pair, [], now)
    return facts


def _recovered_facts(pair: KeyPair) -> _Facts:
    """Return the facts of a CA whose facts are missing, from its certificate. Raises ``PKIError``."""
    from steersman.asynckit import certificates  # noqa: PLC0415 — loads cryptography; hardly ever needed

    for path in (pair.certificate, pair.key):
        if not path.exists():
            raise PKIError(f"{path} is missing; restore it, or {_remedy(pair)}")
    try:
        not_after, serial = certificates.check_ca(pair.certificate.read_bytes(), pair.key.read_bytes())
    except ValueError as error:
        raise PKIError(
            f"{pair.certificate} and {pair.key} are no usable CA ({error}); restore them, or {_remedy(pair)}"
        ) from error
    facts = _Facts(not_after, [], serial)
    write_private(_facts_path(pair), msgspec.json.encode(facts))
    return facts


def _remedy(pair: KeyPair) -> str:
    return f"remove {pair.certificate.parent} to create a new CA, which no present kubeconfig trusts"


def _is_pem(path: Path) -> bool:
    return path.read_bytes().startswith(b"-----BEGIN ")


def _facts_path(pair: KeyPair) -> Path:
    return pair.certificate.with_suffix(".json")


def _facts(pair: KeyPair) -> _Facts | None:
    """Return the recorded contents of a pair; None if any part is missing or unreadable."""
    if not pair.certificate.exists() or not pair.key.exists():
        return None
    try:
        return msgspec.json.decode(_facts_path(pair).read_bytes(), type=_Facts)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _make(pair: KeyPair, names: list[str], now: datetime, *, ca: KeyPair | None = None, issuer: str = "") -> _Facts:
    """Make and write one pair: the CA itself without ``ca``, a server's or client's certificate by its file's name."""
    from steersman.asynckit import certificates  # noqa: PLC0415 — loads cryptography, longer than the rest of a start

    if ca is None:
        name = "kubernetes" if pair.certificate.stem != _FRONT_PROXY_STEM else _FRONT_PROXY_STEM
        pems = certificates.make_ca(name, now=now, life=_CA_LIFE)
    else:
        authority = certificates.Pems(ca.certificate.read_bytes(), ca.key.read_bytes())
        stem = pair.certificate.stem
        if stem in _CLIENTS:
            pems = certificates.make_client(_CLIENTS[stem], names, authority, now=now, life=_LEAF_LIFE)
        else:
            name = "kube-apiserver" if stem != _KUBELET_STEM else _KUBELET_STEM
            pems = certificates.make_server(name, names, authority, now=now, life=_LEAF_LIFE)
    return _write(pair, pems, _Facts(now + (_LEAF_LIFE if ca else _CA_LIFE), names, issuer or pems.serial))


def _write(pair: KeyPair, pems: Pems, facts: _Facts) -> _Facts:
    write_private(pair.key, pems.key)
    write_private(pair.certificate, pems.certificate)
    # Last: without facts the next start recreates the pair.
    write_private(_facts_path(pair), msgspec.json.encode(facts))
    return facts
