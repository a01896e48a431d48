"""Parsing of certificate subjects in the form of RFC 4514, which the ASGI TLS extension uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Attribute type and value, in the order of the certificate.
Attributes = list[tuple[str, str]]

#: ``ssl``'s names of attribute types → short names of RFC 4514. Others are kept.
_SHORT = {
    "commonName": "CN",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "stateOrProvinceName": "ST",
    "localityName": "L",
    "userId": "UID",
    "domainComponent": "DC",
}
_ESCAPES = {char: f"\\{char}" for char in '",+;<>\\'} | {"\x00": "\\00"}


def from_ssl(subject: Sequence[Sequence[tuple[str, str]]]) -> str:
    """Format a subject of ``SSLSocket.getpeercert``. RFC 4514 starts with the last RDN."""
    rdns = ["+".join(f"{_SHORT.get(kind, kind)}={_escape(value)}" for kind, value in rdn) for rdn in subject]
    return ",".join(reversed(rdns))


def parse(text: str) -> Attributes:
    """Parse a subject into attributes, in the order of the certificate. Raises ValueError."""
    rdns: list[Attributes] = [[]]
    rest = text
    while rest:
        kind, equals, rest = rest.partition("=")
        if not equals:
            raise ValueError(f"not a distinguished name: {text!r}")
        value, separator, rest = _take_value(rest)
        rdns[-1].append((kind.strip(), value))
        if separator == ",":
            rdns.append([])
    return [attribute for rdn in reversed(rdns) for attribute in rdn]


def _escape(value: str) -> str:
    text = "".join(_ESCAPES.get(char, char) for char in value)
    if text.startswith((" ", "#")):
        text = f"\\{text}"
    if text.endswith(" ") and not text.endswith("\\ "):
        text = f"{text[:-1]}\\ "
    return text


def _take_value(text: str) -> tuple[str, str, str]:
    """Return the first value, the separator after it, and the rest."""
    value: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char in ",+":
            return "".join(value), char, text[index + 1 :]
        if char == "\\":
            index += 1
            pair = text[index : index + 2]
            if pair == "00":
                value.append("\x00")
                index += 2
                continue
            char = text[index : index + 1]
        value.append(char)
        index += 1
    return "".join(value), "", ""
