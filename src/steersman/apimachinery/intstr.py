"""Numbers that may be given as a share: ``2`` or ``25%``."""

from __future__ import annotations

import re
from typing import Final

from steersman.apimachinery.gotext import quote

_PERCENT: Final = re.compile(r"[-+]?[0-9]+(?=%\Z)", re.ASCII)
#: A share longer than this is no 64-bit number.
_MAX_DIGITS: Final = 19


def percent(value: int | str) -> int | None:
    """The number before the percent sign, or ``None`` for what is no percentage."""
    match = _PERCENT.match(value) if isinstance(value, str) else None
    return int(match[0]) if match and len(match[0]) <= _MAX_DIGITS else None


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """A number as it is, a percentage as that share of ``total``. Raises ``ValueError`` for other texts."""
    if isinstance(value, int):
        return value
    share = percent(value)
    if share is None:
        if not value.endswith("%"):
            raise ValueError("invalid value for IntOrString: invalid type: string is not a percentage")
        raise ValueError(
            f"invalid value for IntOrString: invalid value {quote(value)}: no number before the percent sign"
        )
    return -(-share * total // 100) if round_up else share * total // 100
