"""Detection of requests that block the event loop: a metric by request attributes, and a rate-limited log line.

It measures and reports only. ``apiserver.workers`` and limits of the rules bound the work.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from steersman.apiserver.observability.metrics import Family, is_label_set
from steersman.asynckit.ratelimit import TokenBucket
from steersman.asynckit.slices import measured

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterable

    from steersman.apiserver.http import Request
    from steersman.apiserver.observability.metrics import Labels
    from steersman.asynckit.clock import Clock

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

#: Blocking times above this are reported.
LIMIT_SECONDS: Final = 0.05
#: Buckets of ``steersman_loop_blocked_seconds``; smaller values are not counted.
_BUCKETS_SECONDS: Final[tuple[float, ...]] = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Verb, group, resource, subresource.
_Key = tuple[str, str, str, str]
#: Maximum number of label sets; further ones, and longer ones, share one.
_SERIES_MAX: Final = 1024
_OTHER: Final[_Key] = ("other", "", "", "")
_LINES_PER_SECOND: Final = 1.0
_LINES_AT_ONCE: Final = 10
_SHOWN_MAX: Final = 256


class _Series:
    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(_BUCKETS_SECONDS) + 1)
        self.seconds = 0.0


class LoopGuard:
    """Monitor of the requests of one application."""

    def __init__(self, clock: Clock) -> None:
        self._monotonic: Final = clock.monotonic
        self._lines: Final = TokenBucket(_LINES_PER_SECOND, _LINES_AT_ONCE, clock=clock)
        self._series: Final[dict[_Key, _Series]] = {}
        self._unlogged = 0
        #: Requests during startup import modules: they are counted, not logged.
        self._logs = False

    def begin_logging(self) -> None:
        """Start logging."""
        self._logs = True

    def watch(self, work: Awaitable[T], request: Request) -> Awaitable[T]:
        """Await ``work``, the coroutine that serves ``request``, and measure its blocking slices."""
        return measured(cast("Coroutine[Any, Any, T]", work), self._monotonic, LIMIT_SECONDS, self._report, request)

    def _report(self, request: Request, seconds: float) -> None:
        info = getattr(request, "info", None)
        key = ("", "", "", "") if info is None else (info.verb, info.group, info.resource, info.subresource)
        series = self._series.get(key)
        if series is None:
            has_room = len(self._series) < _SERIES_MAX and is_label_set(key)
            series = self._series.setdefault(key if has_room else _OTHER, _Series())
        series.buckets[bisect_left(_BUCKETS_SECONDS, seconds)] += 1
        series.seconds += seconds
        if not self._logs:
            return
        if not self._lines.try_take():
            self._unlogged += 1
            return
        user = getattr(request, "user", None)
        _log.warning(
            "a request held the event loop for %.0f ms: %s %.*r by %.*r, audit id %s (%d more were not logged)",
            seconds * 1000,
            request.method,
            _SHOWN_MAX,
            request.path,
            _SHOWN_MAX,
            "" if user is None else user.name,
            request.audit_id,
            self._unlogged,
        )
        self._unlogged = 0

    async def collect(self) -> Iterable[Family]:
        """Return metrics for ``/metrics``."""
        return [
            Family(
                "steersman_loop_blocked_seconds",
                "histogram",
                f"Slices of requests that held the event loop for more than {LIMIT_SECONDS} seconds.",
                [sample for key, series in self._series.items() for sample in _samples(key, series)],
            )
        ]


def _samples(key: _Key, series: _Series) -> Iterable[tuple[str, Labels, float]]:
    labels = tuple(zip(("verb", "group", "resource", "subresource"), key, strict=True))
    total = 0
    for bound, count in zip((*_BUCKETS_SECONDS, "+Inf"), series.buckets, strict=True):
        total += count
        yield "_bucket", (*labels, ("le", str(bound))), total
    yield "_sum", labels, series.seconds
    yield "_count", labels, total
