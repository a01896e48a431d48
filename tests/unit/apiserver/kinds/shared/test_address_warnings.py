"""Warnings about non-canonical addresses and CIDRs."""

from __future__ import annotations

import pytest

from steersman.apiserver.kinds.shared.address_warnings import cidr_warnings, ip_warnings

LATER = "will be considered invalid in a future Kubernetes release"


@pytest.mark.parametrize("text", ["10.0.0.1", "2001:db8::1", "::", "no address", ""])
def test_ip_warnings_is_empty_for_canonical_and_invalid_addresses(text: str):
    assert list(ip_warnings("spec.ip", text)) == []


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("010.000.000.001", f'non-standard IP address "010.000.000.001" {LATER}: use "10.0.0.1"'),
        ("::ffff:1.2.3.4", f'non-standard IP address "::ffff:1.2.3.4" {LATER}: use "1.2.3.4"'),
        ("2001:DB8::1", 'IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'),
        ("2001:db8:0::1", 'IPv6 address "2001:db8:0::1" should be in RFC 5952 canonical format ("2001:db8::1")'),
    ],
)
def test_ip_warnings_suggest_canonical_form(text: str, warning: str):
    assert list(ip_warnings("spec.ip", text)) == [f"spec.ip: {warning}"]


@pytest.mark.parametrize("text", ["10.0.0.0/8", "2001:db8::/64", "0.0.0.0/0", "no network", "10.0.0.0"])
def test_cidr_warnings_is_empty_for_canonical_and_invalid_cidrs(text: str):
    assert list(cidr_warnings("f", text)) == []


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        (
            "10.1.2.3/8",
            ['CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)'],
        ),
        ("010.0.0.0/8", [f'non-standard CIDR value "010.0.0.0/8" {LATER}: use "10.0.0.0/8"']),
        (
            "010.1.2.3/8",
            [
                'CIDR value "010.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)',
                f'non-standard CIDR value "010.1.2.3/8" {LATER}: use "10.0.0.0/8"',
            ],
        ),
        (
            "2001:DB8::/64",
            ['IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")'],
        ),
        (
            "2001:db8::1/64",
            [
                (
                    'CIDR value "2001:db8::1/64" is ambiguous in this context '
                    '(should be "2001:db8::/64" or "2001:db8::1/128"?)'
                )
            ],
        ),
    ],
)
def test_cidr_warnings_suggest_canonical_form(text: str, warnings: list[str]):
    assert list(cidr_warnings("f", text)) == [f"f: {warning}" for warning in warnings]
