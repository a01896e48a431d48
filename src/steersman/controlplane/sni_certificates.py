"""Certificates for some server names (``--tls-sni-cert-key``).

Upstream: ``k8s.io/component-base/cli/flag`` (``namedcertkey_flag.go``), ``dynamiccertificates`` (``named_certificates.go``).
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from steersman.apimachinery.names import check_dns1123_subdomain
from steersman.asynckit.server_names import ServerContexts

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from steersman.asynckit.certificates import CertificateNames


class NamedCertKey(NamedTuple):
    """Files of a certificate and its key, and the names that they are for; none: those of the certificate."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()


class LoadedCertificate(NamedTuple):
    """A context with a certificate, the certificate in PEM, and the names that it is for."""

    context: ssl.SSLContext
    certificate: bytes
    names: tuple[str, ...] = ()


def parse_named_cert_key(text: str) -> NamedCertKey:
    """Return the value ``cert,key`` or ``cert,key:name,name``. Raises ``ValueError``."""
    files, colon, listed = text.partition(":")
    if colon and not listed.strip():
        raise ValueError("empty names list is not allowed")
    paths = [path.strip() for path in files.split(",")]
    if len(paths) != 2:
        raise ValueError("expected comma separated certificate and key file paths")
    names = tuple(name.strip() for name in listed.split(",")) if colon else ()
    return NamedCertKey(Path(paths[0]), Path(paths[1]), names)


def server_contexts(
    default: LoadedCertificate, named: Sequence[LoadedCertificate], *, address: str = ""
) -> ServerContexts:
    """Return the contexts by name: explicit names precede those of certificates, earlier certificates later ones.

    A client with any other name gets the first certificate that is valid for it, beginning with the default one.
    """
    if not named:
        return ServerContexts(default.context)
    from steersman.asynckit.certificates import names_of  # noqa: PLC0415 — loads cryptography

    by_name: dict[str, ssl.SSLContext] = {}
    explicit: dict[str, ssl.SSLContext] = {}
    for loaded in reversed(named):
        explicit.update(dict.fromkeys(map(str.lower, loaded.names), loaded.context))
        if not loaded.names:
            by_name.update(dict.fromkeys(_serving_names(names_of(loaded.certificate)), loaded.context))
    valid_for: dict[str, ssl.SSLContext] = {}
    for loaded in (default, *named):
        for name in names_of(loaded.certificate).dns:
            valid_for.setdefault(name.lower(), loaded.context)
    return ServerContexts(default.context, named={**by_name, **explicit}, valid_for=valid_for, address=address)


def _serving_names(names: CertificateNames) -> list[str]:
    """Return the names that a certificate is for, without IP addresses, as clients do not send those."""
    common = names.common
    is_domain = common == "*" or not any(check_dns1123_subdomain(common.removeprefix("*.")))
    listed = [common, *names.dns] if is_domain and not _is_address(common) else names.dns
    return [name.lower() for name in listed]


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
