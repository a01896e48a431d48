"""Rotation of a serving certificate and its authority, which are kept in a Secret.

The authority is renewed long before its end, and its certificate stays in the bundle until it has expired. The serving
certificate remains the one of the former authority until its own renewal, so that all clients have the new bundle by then.

Upstream: ``pkg/rotator`` of ``github.com/open-policy-agent/cert-controller``, which replaces both at once.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from steersman.asynckit import certificates
from steersman.asynckit.certificates import Pems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

CA_CERT: Final = "ca.crt"
CA_KEY: Final = "ca.key"
CERT: Final = "tls.crt"
KEY: Final = "tls.key"

CA_LIFE: Final = timedelta(days=3650)
LEAF_LIFE: Final = timedelta(days=90)
#: Remaining time at which the authority is renewed: longer than any serving certificate that it issues by then.
CA_RENEWAL: Final = 2 * LEAF_LIFE
LEAF_RENEWAL: Final = LEAF_LIFE / 3


def rotate(data: Mapping[str, bytes], name: str, hosts: Sequence[str], *, now: datetime) -> dict[str, bytes] | None:
    """Return the data of the Secret with all that must be renewed; None if nothing must.

    ``name``: common name of the certificate. ``ca.crt`` has the certificate of the authority first, then those of former ones.
    """
    bundle = _unexpired_authorities(data, now)
    authority = _authority(data)
    end = now if authority is None else certificates.check_ca(authority.certificate, authority.key)[0]
    if authority is None or end - now < LEAF_LIFE:
        authority, end = certificates.make_ca(f"{name}-ca", now=now, life=CA_LIFE), now + CA_LIFE
        bundle = authority.certificate + bundle
    leaf = _leaf(data, bundle, hosts, now)
    if leaf is None:
        leaf = certificates.make_server(name, list(hosts), authority, now=now, life=LEAF_LIFE)
    if end - now < CA_RENEWAL:
        authority = certificates.make_ca(f"{name}-ca", now=now, life=CA_LIFE)
        bundle = authority.certificate + bundle
    rotated = {CA_CERT: bundle, CA_KEY: authority.key, CERT: leaf.certificate, KEY: leaf.key}
    return None if rotated == {key: data.get(key) for key in rotated} else rotated


def _unexpired_authorities(data: Mapping[str, bytes], now: datetime) -> bytes:
    try:
        return certificates.drop_expired(data[CA_CERT], now=now)
    except (KeyError, ValueError):
        return b""


def _authority(data: Mapping[str, bytes]) -> Pems | None:
    """Return the authority; None if it is missing or invalid."""
    try:
        _, serial = certificates.check_ca(data[CA_CERT], data[CA_KEY])
    except (KeyError, ValueError):
        return None
    return Pems(data[CA_CERT], data[CA_KEY], serial)


def _leaf(data: Mapping[str, bytes], bundle: bytes, hosts: Sequence[str], now: datetime) -> Pems | None:
    """Return the serving certificate; None if it is missing, invalid, for other hosts or due for renewal."""
    try:
        end, actual_hosts = certificates.check_server(data[CERT], data[KEY], bundle)
    except (KeyError, ValueError):
        return None
    is_current = actual_hosts == [_normal(host) for host in hosts] and end - now >= LEAF_RENEWAL
    return Pems(data[CERT], data[KEY]) if is_current else None


def _normal(host: str) -> str:
    """Return an address in its usual form; a name as it is."""
    try:
        return str(ip_address(host))
    except ValueError:
        return host
