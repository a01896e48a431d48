"""IntOrString values: ``2`` or ``25%``. Upstream: ``k8s.io/apimachinery/pkg/util/intstr``."""

from __future__ import annotations

import re
from typing import Final

from steersman.apimachinery.gotext import quote

_PERCENT: Final = re.compile(r"[-+]?[0-9]+(?=%\Z)", re.ASCII)
#: A percentage with more digits exceeds a 64-bit integer.
_MAX_DIGITS: Final = 19


def percent(value: int | str) -> int | None:
    """Return the number before the percent sign; ``None`` if the value is not a percentage."""
    match = _PERCENT.match(value) if isinstance(value, str) else None
    return int(match[0]) if match and len(match[0]) <= _MAX_DIGITS else None


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """Return an integer unchanged, a percentage as its share of ``total``. Raises ``ValueError`` for other strings.

    Upstream: ``GetScaledValueFromIntOrPercent``.
    """
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
