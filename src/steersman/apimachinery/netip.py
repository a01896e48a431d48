"""Parse errors of IP addresses and prefixes, as Go's ``net/netip`` reports them."""

from __future__ import annotations

import re
from typing import Final

from steersman.apimachinery.gotext import quote

_HEX: Final = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_BYTES: Final = 16


def address_error(text: str) -> str:
    """Return why a text is no address; empty if it is one. Upstream: ``netip.ParseAddr``."""
    kind = next((char for char in text if char in ".:%"), "")
    if kind == ".":
        fault, at = _ipv4_fault(text)
    elif kind == ":":
        fault, at = _ipv6_fault(text)
    else:
        fault, at = ("missing IPv6 address" if kind else "unable to parse IP"), ""
    if not fault:
        return ""
    return f"ParseAddr({quote(text)}): {fault}{f' (at {quote(at)})' if at else ''}"


def _ipv4_fault(text: str) -> tuple[str, str]:
    """Return the fault of a dotted address and the text at which it is."""
    octet, octets = "", 0
    for place, char in enumerate(text):
        if char.isascii() and char.isdigit():
            if octet == "0":
                return "IPv4 field has octet with leading zero", ""
            octet += char
            if int(octet) > 255:
                return "IPv4 field has value >255", ""
        elif char != ".":
            return "unexpected character", text[place:]
        elif place in (0, len(text) - 1) or text[place - 1] == ".":
            return "IPv4 field must have at least one digit", text[place:]
        elif octets == 3:
            return "IPv4 address too long", ""
        else:
            octet, octets = "", octets + 1
    return ("IPv4 address too short", "") if octets < 3 else ("", "")


def _ipv6_fault(text: str) -> tuple[str, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string", ""
    has_ellipsis = rest.startswith("::")
    if has_ellipsis:
        rest = rest[2:]
        if not rest:
            return "", ""
    size = 0
    while size < _BYTES:
        match = _HEX.match(rest)
        digits = match[0] if match is not None else ""
        if len(digits) > 4:
            return "each group must have 4 or less digits", rest
        if not digits:
            return "each colon-separated field must have at least one digit", rest
        if rest.startswith(".", len(digits)):
            return _embedded_fault(rest, size, has_ellipsis=has_ellipsis)
        size += 2
        rest = rest[len(digits) :]
        if not rest:
            break
        if rest[0] != ":":
            return "unexpected character, want colon", rest
        if len(rest) == 1:
            return "colon must be followed by more characters", rest
        rest = rest[1:]
        if rest[0] == ":":
            if has_ellipsis:
                return "multiple :: in address", rest
            has_ellipsis, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        return "trailing garbage after address", rest
    return _length_fault(size, has_ellipsis=has_ellipsis)


def _embedded_fault(rest: str, size: int, *, has_ellipsis: bool) -> tuple[str, str]:
    """Return the fault of an IPv4 address at the end of an IPv6 address, after ``size`` bytes."""
    if not has_ellipsis and size != _BYTES - 4:
        return "embedded IPv4 address must replace the final 2 fields of the address", rest
    if size + 4 > _BYTES:
        return "too many hex fields to fit an embedded IPv4 at the end of the address", rest
    fault, at = _ipv4_fault(rest)
    return (fault, at) if fault else _length_fault(size + 4, has_ellipsis=has_ellipsis)


def _length_fault(size: int, *, has_ellipsis: bool) -> tuple[str, str]:
    if size < _BYTES and not has_ellipsis:
        return "address string too short", ""
    if size == _BYTES and has_ellipsis:
        return "the :: must expand to at least one field of zeros", ""
    return "", ""


def prefix_error(text: str) -> str:
    """Return why a text is no address with a prefix length; empty if it is one. Upstream: ``netip.ParsePrefix``."""
    fault = _prefix_fault(text)
    return f"netip.ParsePrefix({quote(text)}): {fault}" if fault else ""


def _prefix_fault(text: str) -> str:
    address, slash, bits = text.rpartition("/")
    if not slash:
        return "no '/'"
    fault = address_error(address)
    if fault:
        return fault
    if "%" in address:
        return "IPv6 zones cannot be present in a prefix"
    is_number = bits.isascii() and bits.isdigit() and (len(bits) == 1 or bits[0] != "0")
    if not is_number or len(bits) > 18:
        return f"bad bits after slash: {quote(bits)}"
    return "prefix length out of range" if int(bits) > (128 if ":" in address else 32) else ""
