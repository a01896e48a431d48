"""``/metrics`` in the Prometheus text format, rendered per scrape from plain counters.

Counters are integers in dicts where events occur (``filters.request_counts`` and others); collectors convert them to ``Family``
objects only here, so that counting is nearly free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from steersman.apimachinery.metric_filter import NO_FILTER
from steersman.apimachinery.metric_levels import with_level
from steersman.apimachinery.workmeter import charged
from steersman.apiserver.http import Response
from steersman.apiserver.workers import run_step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from steersman.apimachinery.histogram import Histogram
    from steersman.apimachinery.metric_filter import MetricFilter
    from steersman.apiserver.http import Request

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

K = TypeVar("K", bound="tuple[str, ...]")
V = TypeVar("V")

#: Label names and values, in order.
Labels = tuple[tuple[str, str], ...]

#: Samples that the event loop renders; more are rendered in a worker.
_SAMPLES_ON_LOOP_MAX: Final = 5_000
#: Work units of a sample.
_UNITS_PER_SAMPLE: Final = 4
#: Characters of all labels of a series that a client chooses.
_CLIENT_LABELS_LENGTH_MAX: Final = 512


class Family(msgspec.Struct, frozen=True):
    """Metric family. Samples of histograms have their suffix (``_bucket``, ``_sum``, ``_count``)."""

    name: str
    #: ``counter``, ``gauge``, ``histogram``.
    type: str
    help: str
    #: Suffix, labels, value.
    samples: Collection[tuple[str, Labels, float]]


class MetricsEndpoint:
    """Endpoint that collects and renders all metric families."""

    def __init__(self, metric_filter: MetricFilter = NO_FILTER) -> None:
        self._collectors: list[Callable[[], Awaitable[Iterable[Family]]]] = []
        self._filter = metric_filter

    def add(self, collector: Callable[[], Awaitable[Iterable[Family]]]) -> None:
        """Add a collector, called per scrape."""
        self._collectors.append(collector)

    async def __call__(self, request: Request) -> Response:
        """Render all families, sorted by name as upstream's registry does."""
        del request
        families = [family for collect in self._collectors for family in await collect()]
        if self._filter:
            families = [
                _constrained(family, self._filter) for family in families if family.name not in self._filter.disabled
            ]
        is_large = sum(len(family.samples) for family in families) > _SAMPLES_ON_LOOP_MAX
        return Response(200, await run_step(_rendered, is_large, families), content_type=CONTENT_TYPE)


def _constrained(family: Family, metric_filter: MetricFilter) -> Family:
    samples = metric_filter.constrain(family.name, family.samples, adds=family.type != "gauge")
    return msgspec.structs.replace(family, samples=samples)


def is_label_set(values: Sequence[str]) -> bool:
    """Report whether texts that a client chooses are short enough to become labels."""
    return sum(map(len, values)) <= _CLIENT_LABELS_LENGTH_MAX


def labelled(names: Sequence[str], values: Mapping[K, V]) -> list[tuple[Labels, V]]:
    """Return samples for values by their labels, which have ``names``."""
    return [(tuple(zip(names, labels, strict=True)), value) for labels, value in values.items()]


def gauge(name: str, text: str, samples: Iterable[tuple[Labels, float]]) -> Family:
    """Return a gauge family."""
    return Family(name, "gauge", text, [("", labels, value) for labels, value in samples])


def counter(name: str, text: str, samples: Iterable[tuple[Labels, float]]) -> Family:
    """Return a counter family."""
    return Family(name, "counter", text, [("", labels, value) for labels, value in samples])


def histogram(name: str, text: str, samples: Iterable[tuple[Labels, Histogram]]) -> Family:
    """Return a histogram family."""
    lines: list[tuple[str, Labels, float]] = []
    for labels, values in samples:
        lines += [("_bucket", (*labels, ("le", bound)), count) for bound, count in values.buckets()]
        lines += [("_sum", labels, values.total), ("_count", labels, values.count)]
    return Family(name, "histogram", text, lines)


def _rendered(families: Iterable[Family]) -> bytes:
    lines: list[str] = []
    for family in sorted(families, key=lambda family: family.name):
        lines += _lines(family)
    return "".join(lines).encode()


def _lines(family: Family) -> Iterable[str]:
    yield f"# HELP {family.name} {with_level(family.name, family.help)}\n"
    yield f"# TYPE {family.name} {family.type}\n"
    before: Labels = ()
    text = ""
    for suffix, labels, value in charged(family.samples, _UNITS_PER_SAMPLE):
        if not labels:
            yield f"{family.name}{suffix} {_number(value)}\n"
            continue
        if labels[:-1] != before:  # the samples of a histogram differ in the last label
            before = labels[:-1]
            text = "".join([f'{name}="{_escape(label)}",' for name, label in before])
        name, label = labels[-1]
        yield f'{family.name}{suffix}{{{text}{name}="{_escape(label)}"}} {_number(value)}\n'


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
