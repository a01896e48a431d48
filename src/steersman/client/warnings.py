"""Parser of ``Warning`` headers (RFC 7234 5.5), e.g. about deprecated API versions."""

from __future__ import annotations

import re
from typing import Final

#: Code, agent, quoted text, and an optional quoted date. Kubernetes uses only code 299.
_WARNING: Final = re.compile(r'\s*(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?\s*(?:,|$)')
_ESCAPED: Final = re.compile(r"\\(.)")


def parse_warnings(header: str) -> list[str]:
    """Return the texts with code 299 of one header, or of several joined headers. Malformed parts are skipped."""
    return [_ESCAPED.sub(r"\1", text) for code, _, text in _WARNING.findall(header) if code == "299"]
