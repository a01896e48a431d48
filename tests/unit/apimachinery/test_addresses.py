"""Addresses and networks."""

from __future__ import annotations

import pytest

from steersman.apimachinery import addresses

NO_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("192.0.2.1", ()),
        ("2001:DB8::1", ()),
        ("192.0.02.010", ("must not have leading 0s",)),
        ("::ffff:192.0.2.1", ("must not be an IPv4-mapped IPv6 address",)),
        ("::ffff:192.0.2.01", ("must not have leading 0s",)),
        ("x", (NO_IP,)),
        ("", (NO_IP,)),
        ("256.0.0.1", (NO_IP,)),
        ("fe80::1%eth0", (NO_IP,)),
        ("192.0.2.1/24", (NO_IP,)),
    ],
)
def test_check_ip_accepts_valid_addresses_only(text: str, faults: tuple[str, ...]) -> None:
    assert addresses.check_ip(text) == faults


@pytest.mark.parametrize("text", ["192.0.02.010", "::ffff:192.0.2.1", "0.0.0.0", "00.0.0.0"])
def test_check_ip_loosely_accepts_legacy_addresses(text: str) -> None:
    assert addresses.check_ip_loosely(text) == ()


def test_parse_ip_reads_leading_zeros_as_decimal() -> None:
    assert str(addresses.parse_ip("192.0.02.010")) == "192.0.2.10"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("2001:db8::1", ()),
        ("2001:DB8::1", ('must be in canonical form ("2001:db8::1")',)),
        ("fd00:0:0::1", ('must be in canonical form ("fd00::1")',)),
        ("192.0.02.1", ("must not have leading 0s",)),
    ],
)
def test_check_canonical_ip_accepts_canonical_addresses_only(text: str, faults: tuple[str, ...]) -> None:
    assert addresses.check_canonical_ip(text) == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("192.0.2.0/24", ()),
        ("2001:db8::/64", ()),
        ("192.0.2.5/24", ("must not have bits set beyond the prefix length",)),
        ("192.0.002.0/24", ("must not have leading 0s in IP or prefix length",)),
        ("192.0.2.0/024", ("must not have leading 0s in IP or prefix length",)),
        ("::ffff:192.0.2.0/120", ("must not have an IPv4-mapped IPv6 address",)),
        ("192.0.2.0", (NO_CIDR,)),
        ("192.0.2.0/33", (NO_CIDR,)),
        ("192.0.2.0/x", (NO_CIDR,)),
        ("x/1", (NO_CIDR,)),
    ],
)
def test_check_cidr_accepts_valid_networks_only(text: str, faults: tuple[str, ...]) -> None:
    assert addresses.check_cidr(text) == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("192.0.2.0/24", ()),
        ("2001:db8::/64", ()),
        ("2001:DB8::/64", ('must be in canonical form ("2001:db8::/64")',)),
        ("fd00:0:0::/64", ('must be in canonical form ("fd00::/64")',)),
        ("192.0.2.5/24", ("must not have bits set beyond the prefix length",)),
    ],
)
def test_check_canonical_cidr_accepts_canonical_networks_only(text: str, faults: tuple[str, ...]) -> None:
    assert addresses.check_canonical_cidr(text) == faults


def test_check_cidr_loosely_accepts_legacy_networks() -> None:
    assert addresses.check_cidr_loosely("192.0.02.5/024") == ()
    assert str(addresses.parse_cidr("192.0.02.5/024")) == "192.0.2.0/24"
