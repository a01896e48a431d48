"""Series of ``/metrics``, and what requests change in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.testing import InProcessAPIServer

#: Name of a sample (with the suffix of histograms), and its labels but those of buckets.
Series = tuple[str, frozenset[tuple[str, str]]]


def series(name: str, /, **labels: str) -> Series:
    """Return the identity of a series."""
    return name, frozenset(labels.items())


class Scrapes:
    """Values of the series of a server before and after requests."""

    def __init__(self, server: InProcessAPIServer) -> None:
        self._server = server
        self._before: dict[Series, float] = {}

    async def begin(self) -> None:
        """Take the current values as those before."""
        self._before = await self.values()

    async def values(self) -> dict[Series, float]:
        """Return the current values."""
        answer = await self._server.request("GET", "/metrics")
        assert answer.code == 200
        lines = re.findall(r"^([a-z_]\w*)(?:\{(.*)\})? (\S+)$", answer.body.decode(), re.MULTILINE)
        return {
            (name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels))): float(value) for name, labels, value in lines
        }

    async def changes(self, *prefixes: str) -> dict[Series, float]:
        """Return the changes of the series whose names begin with a prefix, without the buckets of histograms."""
        after = await self.values()
        return {
            key: value - self._before.get(key, 0.0)
            for key, value in after.items()
            if key[0].startswith(prefixes) and not key[0].endswith("_bucket") and value != self._before.get(key, 0.0)
        }
