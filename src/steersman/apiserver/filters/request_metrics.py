"""Request metrics under upstream's names: integers in a dict, one lookup per request."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import Family, Labels, counter, gauge, is_label_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from steersman.apiserver.filters.max_in_flight import InFlight
    from steersman.apiserver.request import RequestInfo

#: Upper bounds of ``apiserver_request_duration_seconds``, as upstream.
BUCKETS_SECONDS: Final[tuple[float, ...]] = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3,
    4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)  # fmt: skip

#: Maximum number of label sets, as clients choose paths; requests beyond it, and with longer labels, share one.
_SERIES_MAX: Final = 4096

#: Verb, dry run, group, version, resource, subresource, scope.
Key = tuple[str, str, str, str, str, str, str]
_OTHER: Final[Key] = ("other", "", "", "", "", "", "")

_VERBS: Final = {
    "create": "POST",
    "update": "PUT",
}


class Series:
    """Counters of one label set."""

    __slots__ = ("buckets", "codes", "long_running", "seconds", "self_requests")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        #: Requests by duration; the last bucket is +Inf.
        self.buckets = [0] * (len(BUCKETS_SECONDS) + 1)
        self.seconds = 0.0
        #: Long-running requests in progress.
        self.long_running = 0
        #: Requests of the server itself.
        self.self_requests = 0

    def opened(self) -> None:
        """Count the start of a long-running response."""
        self.long_running += 1

    def closed(self) -> None:
        """Count the end of a long-running response."""
        self.long_running -= 1


class RequestMetrics:
    """Counters by label set."""

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._series: dict[Key, Series] = {}

    def series(self, info: RequestInfo, dry_run: str) -> Series:
        """Return the counters of a request."""
        if info.name or info.verb == "create":
            scope = "resource" if info.is_resource else ""
        elif info.namespace:
            scope = "namespace"
        else:
            scope = "cluster" if info.is_resource else ""
        key = (info.verb, dry_run, info.group, info.version, info.resource, info.subresource, scope)
        series = self._series.get(key)
        if series is None:
            if len(self._series) >= _SERIES_MAX or not is_label_set(key):
                key = _OTHER
            series = self._series.setdefault(key, Series())
        return series

    @staticmethod
    def count(series: Series, code: int, seconds: float) -> None:
        """Count a response."""
        series.codes[code] = series.codes.get(code, 0) + 1
        series.buckets[bisect_left(BUCKETS_SECONDS, seconds)] += 1
        series.seconds += seconds

    async def collect(self) -> Iterable[Family]:
        """Return metrics for ``/metrics``."""
        return [
            counter(
                "apiserver_request_total",
                "Requests answered, by what they asked for and the HTTP code.",
                [
                    ((("code", str(code)), *_labels(key)), count)
                    for key, series in self._series.items()
                    for code, count in series.codes.items()
                ],
            ),
            Family(
                "apiserver_request_duration_seconds",
                "histogram",
                "Time until the answer began, in seconds.",
                _DurationSamples(list(self._series.items())),
            ),
            gauge(
                "apiserver_longrunning_requests",
                "Watches and other requests that stay open.",
                self._sums(lambda series: series.long_running, without=("dry_run",)),
            ),
            counter(
                "apiserver_selfrequest_total",
                "Requests of the API server itself.",
                self._sums(lambda series: series.self_requests, without=("component", "dry_run", "scope", "version")),
            ),
            gauge(
                "apiserver_current_inflight_requests",
                "Requests that count against the limits of requests at once.",
                [
                    ((("request_kind", "mutating"),), self._in_flight.mutating),
                    ((("request_kind", "readOnly"),), self._in_flight.reading),
                ],
            ),
        ]

    def _sums(self, value: Callable[[Series], int], *, without: Sequence[str]) -> list[tuple[Labels, float]]:
        """Return the sums of nonzero values by the labels that remain."""
        sums: dict[Labels, float] = {}
        for key, series in self._series.items():
            if count := value(series):
                labels = tuple(label for label in _labels(key) if label[0] not in without)
                sums[labels] = sums.get(labels, 0) + count
        return list(sums.items())


class _DurationSamples:
    """Samples of the durations, created when they are rendered, as there are thousands."""

    __slots__ = ("_series",)

    def __init__(self, series: Sequence[tuple[Key, Series]]) -> None:
        self._series: Final = series

    def __len__(self) -> int:
        return len(self._series) * (len(BUCKETS_SECONDS) + 3)

    def __iter__(self) -> Iterator[tuple[str, Labels, float]]:
        for key, series in self._series:
            yield from _histogram(_labels(key), series)

    def __contains__(self, sample: object) -> bool:
        return any(sample == other for other in self)


def _labels(key: Key) -> Labels:
    verb, dry_run, group, version, resource, subresource, scope = key
    return (
        ("component", "apiserver"),
        ("dry_run", dry_run),
        ("group", group),
        ("resource", resource),
        ("scope", scope),
        ("subresource", subresource),
        ("verb", _VERBS.get(verb, verb.upper())),
        ("version", version),
    )


def _histogram(labels: Labels, series: Series) -> Iterable[tuple[str, Labels, float]]:
    total = 0
    for bound, count in zip((*BUCKETS_SECONDS, "+Inf"), series.buckets, strict=True):
        total += count
        yield "_bucket", (*labels, ("le", str(bound))), total
    yield "_sum", labels, series.seconds
    yield "_count", labels, total
