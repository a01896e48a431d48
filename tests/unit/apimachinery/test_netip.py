from __future__ import annotations

import pytest

from steersman.apimachinery.netip import address_error, prefix_error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("10.0.0.1", ""),
        ("::", ""),
        ("fe80::1%eth0", ""),
        ("::ffff:1.2.3.4", ""),
        ("1:2:3:4:5:6:1.2.3.4", ""),
        ("", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.x.4", 'unexpected character (at "x.4")'),
        ("1:2:3", "address string too short"),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("::1::", 'multiple :: in address (at ":")'),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1g::", 'unexpected character, want colon (at "g::")'),
        ("g::", 'each colon-separated field must have at least one digit (at "g::")'),
        ("::1%", "zone must be a non-empty string"),
        ("::1.2.3.400", "IPv4 field has value >255"),
        ("1:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        (
            "1::2:3:4:5:6:7:1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
    ],
)
def test_address_error_is_that_of_go(text, error):
    assert address_error(text) == (f'ParseAddr("{text}"): {error}' if error else "")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("10.0.0.0/8", ""),
        ("::/128", ""),
        ("10.0.0.0", "no '/'"),
        ("10.0.0/8", 'ParseAddr("10.0.0"): IPv4 address too short'),
        ("::1%e/64", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/33", "prefix length out of range"),
    ],
)
def test_prefix_error_is_that_of_go(text, error):
    assert prefix_error(text) == (f'netip.ParsePrefix("{text}"): {error}' if error else "")
