"""Semantic versions in comparable form (semver.org, section 11)."""

from __future__ import annotations

import re
from typing import Final

#: Numbers, then pre-release identifiers; tuples compare like the versions.
Version = tuple[int, int, int, tuple[tuple[int, int, str], ...]]

ZERO: Final[Version] = (0, 0, 0, ())

_FORM: Final = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
#: Sorts after every pre-release of the same numbers.
_RELEASE: Final = ((2, 0, ""),)


def parse_version(text: str) -> Version:
    """Parse a version; ``ZERO``, which sorts first, for malformed text, as upstream."""
    match = _FORM.fullmatch(text)
    if match is None:
        return ZERO
    major, minor, patch, pre = match.groups()
    return int(major), int(minor or 0), int(patch or 0), _identifiers(pre) if pre else _RELEASE


def _identifiers(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return comparable identifiers: numbers sort before words, and numerically."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in text.split("."))
