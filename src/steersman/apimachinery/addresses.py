"""Parsing and validation of IP addresses and CIDRs. Upstream: ``k8s.io/apimachinery/pkg/util/validation/ip.go``."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.text_cache import text_cache

if TYPE_CHECKING:
    from steersman.apimachinery.names import Faults

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_LEADING_ZEROS: Final = re.compile(r"(?:(?<=\.)|(?<=:)|^)0+(?=[0-9]+(?:\.|$))")


@text_cache(4096, length_max=64)
def parse_ip(text: str) -> IPAddress | None:
    """Parse an address; leading zeros in IPv4 octets are accepted, as in old objects. Return ``None`` if invalid."""
    try:
        return ipaddress.ip_address(_LEADING_ZEROS.sub("", text) if "." in text else text) if "%" not in text else None
    except ValueError:
        return None


def parse_cidr(text: str) -> IPNetwork | None:
    """Parse a network; leading zeros and host bits are accepted. Return ``None`` if invalid."""
    address, slash, length = text.partition("/")
    ip = parse_ip(address)
    if ip is None or not slash or not (length.isascii() and length.isdigit()) or int(length) > ip.max_prefixlen:
        return None
    return ipaddress.ip_network(f"{ip}/{int(length)}", strict=False)


@text_cache(4096, length_max=64)
def _is_strict(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_mapped(ip: IPAddress) -> bool:
    """Report whether ``ip`` is an IPv4-mapped IPv6 address, ``::ffff:192.0.2.1``."""
    return isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None


def check_ip_loosely(text: str) -> Faults:
    """Validate an address that the old object has by the rules before strict validation. Upstream: ``parseIP``."""
    return () if parse_ip(text) else ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)


def check_ip(text: str) -> Faults:
    """Validate an address of an older field strictly: no form is ambiguous. Upstream: ``IsValidIPForLegacyField``."""
    ip = parse_ip(text)
    if ip is None:
        return check_ip_loosely(text)
    if not _is_strict(text):
        return ("must not have leading 0s",)
    return ("must not be an IPv4-mapped IPv6 address",) if _is_mapped(ip) else ()


def check_canonical_ip(text: str) -> Faults:
    """Validate that an address is in its canonical form, as newer fields need it. Upstream: ``IsValidIP``."""
    faults = check_ip(text)
    if faults:
        return faults
    canonical = str(parse_ip(text))
    return () if canonical == text else (f"must be in canonical form ({quote(canonical)})",)


def check_cidr_loosely(text: str) -> Faults:
    """Validate a CIDR that the old object has by the rules before strict validation. Upstream: ``parseCIDR``."""
    return () if parse_cidr(text) else ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)


def check_cidr(text: str) -> Faults:
    """Validate a CIDR of an older field strictly: no form is ambiguous. Upstream: ``IsValidCIDRForLegacyField``."""
    network = parse_cidr(text)
    if network is None:
        return check_cidr_loosely(text)
    address, _, length = text.partition("/")
    if not _is_strict(address) or (len(length) > 1 and length.startswith("0")):
        return ("must not have leading 0s in IP or prefix length",)
    ip = ipaddress.ip_address(address)
    if _is_mapped(ip):
        return ("must not have an IPv4-mapped IPv6 address",)
    return () if ip == network.network_address else ("must not have bits set beyond the prefix length",)


def check_canonical_cidr(text: str) -> Faults:
    """Validate that a CIDR is in its canonical form, as newer fields need it. Upstream: ``IsValidCIDR``."""
    faults = check_cidr(text)
    if faults:
        return faults
    canonical = str(parse_cidr(text))
    return () if canonical == text else (f"must be in canonical form ({quote(canonical)})",)
