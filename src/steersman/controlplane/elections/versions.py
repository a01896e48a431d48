"""Semantic versions, as far as ordering them goes (semver.org, section 11)."""

from __future__ import annotations

import re
from typing import Final

#: Numbers, then what tells pre-releases apart; compares as the versions do.
Version = tuple[int, int, int, tuple[tuple[int, int, str], ...]]

ZERO: Final[Version] = (0, 0, 0, ())

_FORM: Final = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
#: After every pre-release of the same numbers.
_RELEASE: Final = ((2, 0, ""),)


def parse_version(text: str) -> Version:
    """The version in ``text``; ``ZERO``, which is before all others, when it holds none, as upstream has it."""
    match = _FORM.fullmatch(text)
    if match is None:
        return ZERO
    major, minor, patch, pre = match.groups()
    return int(major), int(minor or 0), int(patch or 0), _identifiers(pre) if pre else _RELEASE


def _identifiers(text: str) -> tuple[tuple[int, int, str], ...]:
    """Numbers come before words, and are compared as numbers."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in text.split("."))
