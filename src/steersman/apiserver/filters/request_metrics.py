"""Request metrics under upstream's names: integers in a dict, one lookup per request."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.histogram import Histogram, exponential_bounds
from steersman.apiserver.observability.metrics import Family, Labels, counter, gauge, histogram, is_label_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from steersman.apiserver.filters.max_in_flight import InFlight
    from steersman.apiserver.request import RequestInfo

#: Upper bounds of ``apiserver_request_duration_seconds``, as upstream.
BUCKETS_SECONDS: Final[tuple[float, ...]] = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3,
    4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)  # fmt: skip

#: Position of the first bound of ``apiserver_request_sli_duration_seconds``, which has the remaining ones, too.
_FIRST_SLI_BUCKET: Final = 2

#: Upper bounds of ``apiserver_response_sizes`` and ``apiserver_request_body_size_bytes``.
_RESPONSE_BYTES: Final = exponential_bounds(1000, 10, 7)
_BODY_BYTES: Final[tuple[float, ...]] = tuple(range(50_000, 3_050_001, 100_000))
#: Verbs whose responses are measured. Upstream: ``MonitorRequest``.
_MEASURED_RESPONSES: Final = frozenset({"get", "list"})
#: Verbs whose bodies are measured, and their labels.
#: Upstream: ``RequestBodyVerb`` of staging/src/k8s.io/apiserver/pkg/endpoints/handlers/metrics/metrics.go.
_MEASURED_BODIES: Final = {
    "create": "create",
    "update": "update",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "delete_collection",
}

#: Maximum number of label sets, as clients choose paths; requests beyond it, and with longer labels, share one.
_SERIES_MAX: Final = 4096

#: Verb, dry run, group, version, resource, subresource, scope.
Key = tuple[str, str, str, str, str, str, str]
#: Labels, counts by bucket, and the sum of a histogram.
_Row = tuple[Key, Sequence[int], float]
_OTHER: Final[Key] = ("other", "", "", "", "", "", "")

_VERBS: Final = {
    "create": "POST",
    "update": "PUT",
}


class Series:
    """Counters of one label set."""

    __slots__ = (
        "aborts",
        "bodies",
        "buckets",
        "codes",
        "excluded_seconds",
        "long_running",
        "responses",
        "seconds",
        "self_requests",
        "sli_changes",
        "terminations",
    )

    def __init__(self, verb: str) -> None:
        self.codes: dict[int, int] = {}
        #: Requests by duration; the last bucket is +Inf.
        self.buckets = [0] * (len(BUCKETS_SECONDS) + 1)
        self.seconds = 0.0
        #: What ``buckets`` would change by without the excluded time of requests; None: nothing was excluded.
        self.sli_changes: list[int] | None = None
        self.excluded_seconds = 0.0
        #: Long-running requests in progress.
        self.long_running = 0
        #: Requests of the server itself.
        self.self_requests = 0
        #: Sizes of responses and of request bodies in bytes; None if they are not measured.
        self.responses: Final = Histogram(_RESPONSE_BYTES) if verb in _MEASURED_RESPONSES else None
        self.bodies: Final = Histogram(_BODY_BYTES) if verb in _MEASURED_BODIES else None
        #: Requests that the server refused or stopped to protect itself, by code.
        self.terminations: dict[int, int] = {}
        #: Responses that were cut off.
        self.aborts = 0

    def terminate(self, code: int) -> None:
        """Count a request that the server refused or stopped to protect itself."""
        self.terminations[code] = self.terminations.get(code, 0) + 1

    def exclude(self, seconds: float, bucket: int, sli_bucket: int) -> None:
        """Count the excluded time of a request in ``bucket``, which is in ``sli_bucket`` without it."""
        if self.sli_changes is None:
            self.sli_changes = [0] * len(self.buckets)
        self.sli_changes[bucket] -= 1
        self.sli_changes[sli_bucket] += 1
        self.excluded_seconds += seconds

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
            series = self._series.setdefault(key, Series(key[0]))
        return series

    def timed_out(self, info: RequestInfo) -> None:
        """Count a request that exceeded its time limit and got a 504. Upstream: ``RecordRequestTermination``."""
        self.series(info, "").terminate(504)

    def aborted(self, info: RequestInfo) -> None:
        """Count a response that was cut off after it had begun. Upstream: ``RecordRequestAbort``."""
        self.series(info, "").aborts += 1

    @staticmethod
    def count(series: Series, code: int, seconds: float, excluded_seconds: float = 0.0) -> None:
        """Count a response. ``excluded_seconds``: see ``LatencyTracker``."""
        bucket = bisect_left(BUCKETS_SECONDS, seconds)
        series.codes[code] = series.codes.get(code, 0) + 1
        series.buckets[bucket] += 1
        series.seconds += seconds
        if excluded_seconds:
            series.exclude(excluded_seconds, bucket, bisect_left(BUCKETS_SECONDS, seconds - excluded_seconds))

    def requested(self) -> Iterable[tuple[str, str, str, str]]:
        """Return group, version, resource and subresource of the counted requests."""
        return sorted({(group, version, resource, sub) for _, _, group, version, resource, sub, _ in self._series})

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
                _HistogramSamples(
                    [(key, series.buckets, series.seconds) for key, series in self._series.items()], is_sli=False
                ),
            ),
            Family(
                "apiserver_request_sli_duration_seconds",
                "histogram",
                "Time until the answer began without that in webhooks and queues, in seconds.",
                _HistogramSamples(_sli_rows(self._series), is_sli=True),
            ),
            *self._size_families(),
            *self._interruption_families(),
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
            gauge(
                "apiserver_current_inqueue_requests",
                "Requests in the queues of priority and fairness.",
                [
                    ((("request_kind", "mutating"),), self._in_flight.queued_mutating),
                    ((("request_kind", "readOnly"),), self._in_flight.queued_reading),
                ],
            ),
        ]

    def _size_families(self) -> list[Family]:
        return [
            histogram(
                "apiserver_response_sizes",
                "Sizes of the responses of reads in bytes.",
                self._sizes(lambda series: series.responses, without=("dry_run",)),
            ),
            histogram("apiserver_request_body_size_bytes", "Sizes of request bodies in bytes.", self._body_sizes()),
        ]

    def _interruption_families(self) -> list[Family]:
        return [
            counter(
                "apiserver_request_terminations_total",
                "Requests that the server refused or stopped to protect itself, by HTTP code.",
                [
                    ((("code", str(code)), *labels), count)
                    for code in sorted({code for series in self._series.values() for code in series.terminations})
                    for labels, count in self._sums(partial(_terminations, code), without=("dry_run",))
                ],
            ),
            counter(
                "apiserver_request_aborts_total",
                "Responses that were cut off after they had begun.",
                self._sums(lambda series: series.aborts, without=("component", "dry_run")),
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

    def _sizes(
        self, value: Callable[[Series], Histogram | None], *, without: Sequence[str]
    ) -> list[tuple[Labels, Histogram]]:
        """Return the sums of histograms with values by the labels that remain."""
        sums: dict[Labels, Histogram] = {}
        for key, series in self._series.items():
            sizes = value(series)
            if sizes is not None and sizes.count:
                labels = tuple(label for label in _labels(key) if label[0] not in without)
                sums.setdefault(labels, Histogram(sizes.bounds)).add(sizes)
        return list(sums.items())

    def _body_sizes(self) -> list[tuple[Labels, Histogram]]:
        sums: dict[Labels, Histogram] = {}
        for (verb, _, group, _, resource, *_), series in self._series.items():
            if series.bodies is not None and series.bodies.count:
                labels = (("group", group), ("resource", resource), ("verb", _MEASURED_BODIES[verb]))
                sums.setdefault(labels, Histogram(_BODY_BYTES)).add(series.bodies)
        return list(sums.items())


def _terminations(code: int, series: Series) -> int:
    return series.terminations.get(code, 0)


class _HistogramSamples:
    """Samples of a histogram, created when they are rendered, as there are thousands."""

    __slots__ = ("_is_sli", "_rows")

    def __init__(self, rows: Sequence[_Row], *, is_sli: bool) -> None:
        """``is_sli``: with the labels and bounds of ``apiserver_request_sli_duration_seconds``."""
        self._rows: Final = rows
        self._is_sli: Final = is_sli

    def __len__(self) -> int:
        bounds = len(BUCKETS_SECONDS) - (_FIRST_SLI_BUCKET if self._is_sli else 0)
        return len(self._rows) * (bounds + 3)

    def __iter__(self) -> Iterator[tuple[str, Labels, float]]:
        for key, buckets, seconds in self._rows:
            labels = _labels(key)
            if self._is_sli:
                labels = tuple(label for label in labels if label[0] != "dry_run")
            yield from _histogram(labels, buckets, seconds, first=_FIRST_SLI_BUCKET if self._is_sli else 0)

    def __contains__(self, sample: object) -> bool:
        return any(sample == other for other in self)


def _sli_rows(series: Mapping[Key, Series]) -> list[_Row]:
    """Return durations without excluded time, of requests with and without dry run together."""
    rows: dict[Key, _Row] = {}
    for key, one in series.items():
        buckets: Sequence[int] = one.buckets
        if one.sli_changes is not None:
            buckets = list(map(add, buckets, one.sli_changes))
        seconds = one.seconds - one.excluded_seconds
        sli_key: Key = (key[0], "", *key[2:])
        if sli_key in rows:
            _, others, other_seconds = rows[sli_key]
            buckets, seconds = list(map(add, others, buckets)), other_seconds + seconds
        rows[sli_key] = (sli_key, buckets, seconds)
    return list(rows.values())


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


def _histogram(
    labels: Labels, buckets: Sequence[int], seconds: float, *, first: int
) -> Iterable[tuple[str, Labels, float]]:
    """Yield the samples of a histogram that has the bounds from position ``first`` on."""
    total = 0
    for position, (bound, count) in enumerate(zip((*BUCKETS_SECONDS, "+Inf"), buckets, strict=True)):
        total += count
        if position >= first:
            yield "_bucket", (*labels, ("le", str(bound))), total
    yield "_sum", labels, seconds
    yield "_count", labels, total
