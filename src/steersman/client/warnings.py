"""``Warning`` headers (RFC 7234 5.5), with which a server tells of deprecated versions and doubtful fields."""

from __future__ import annotations

import re
from typing import Final

#: Code, agent, quoted text, and maybe a date in quotes. Kubernetes uses code 299 alone.
_WARNING: Final = re.compile(r'\s*(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?\s*(?:,|$)')
_ESCAPED: Final = re.compile(r"\\(.)")


def parse_warnings(header: str) -> list[str]:
    """The texts of code 299 in a header, or in several that were joined. What is malformed is passed over."""
    return [_ESCAPED.sub(r"\1", text) for code, _, text in _WARNING.findall(header) if code == "299"]
