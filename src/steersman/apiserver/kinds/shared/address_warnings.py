"""Warnings about valid IP addresses and CIDRs in non-canonical or ambiguous form.

Upstream: ``GetWarningsForIP``, ``GetWarningsForCIDR``.
"""

from __future__ import annotations

from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from steersman.apimachinery.addresses import check_ip, parse_cidr, parse_ip

if TYPE_CHECKING:
    from collections.abc import Iterator


def ip_warnings(name: str, text: str) -> Iterator[str]:
    """Return warnings about the address in field ``name``."""
    ip = parse_ip(text)
    if ip is None:
        return
    if check_ip(text):
        mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
        yield (
            f'{name}: non-standard IP address "{text}" will be considered invalid in a future Kubernetes release: '
            f'use "{mapped or ip}"'
        )
    elif ip.version == 6 and str(ip) != text:
        yield f'{name}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{ip}")'


def cidr_warnings(name: str, text: str) -> Iterator[str]:
    """Return warnings about the CIDR in field ``name``."""
    network = parse_cidr(text)
    address, _, length = text.partition("/")
    ip = parse_ip(address)
    if network is None or ip is None:
        return
    is_usual = True
    if ip != network.network_address:
        yield (
            f'{name}: CIDR value "{text}" is ambiguous in this context '
            f'(should be "{network}" or "{ip}/{ip.max_prefixlen}"?)'
        )
        is_usual = False
    if check_ip(address) or length != str(network.prefixlen):
        yield (
            f'{name}: non-standard CIDR value "{text}" will be considered invalid in a future Kubernetes release: '
            f'use "{network}"'
        )
        is_usual = False
    if is_usual and ip.version == 6 and str(network) != text:
        yield f'{name}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{network}")'
