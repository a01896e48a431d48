"""Values of a metric by label set, with a bound: names come from objects that clients create and delete."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

from steersman.apimachinery.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Hashable

K = TypeVar("K", bound="Hashable")

#: Label sets of one metric.
LABEL_SETS_MAX: Final = 4096


def make_room(table: dict[Any, Any], labels: Hashable) -> None:
    """Drop the oldest label set of a full table that does not have ``labels`` yet: its series ends, or begins again at zero."""
    if labels not in table:
        while len(table) >= LABEL_SETS_MAX:
            del table[next(iter(table))]


def count(table: dict[K, int], labels: K, number: int = 1) -> None:
    """Add to the counter of a label set."""
    current = table.get(labels)
    if current is None:
        make_room(table, labels)
        current = 0
    table[labels] = current + number


def observe(table: dict[K, Histogram], labels: K, value: float, bounds: tuple[float, ...]) -> None:
    """Count a value in the histogram of a label set. All histograms of a table have the same bounds."""
    histogram = table.get(labels)
    if histogram is None:
        make_room(table, labels)
        histogram = table[labels] = Histogram(bounds)
    histogram.observe(value)


def hash_label(data: bytes) -> str:
    """Return the hash that stands for a text in a label; empty for an empty text."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}" if data else ""
