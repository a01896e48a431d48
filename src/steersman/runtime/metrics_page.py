"""``/metrics`` of a component in the Prometheus text format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from prometheus_client import generate_latest

from steersman.apimachinery.metric_levels import with_level

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

_HELP: Final = re.compile(r"^# HELP (\S+) (.*)$", re.MULTILINE)


def exposition(registry: Collector) -> bytes:
    """Return all metrics; the help texts of upstream's begin with their stability level."""
    text = generate_latest(registry).decode()
    return _HELP.sub(lambda match: f"# HELP {match[1]} {with_level(match[1], match[2])}", text).encode()
