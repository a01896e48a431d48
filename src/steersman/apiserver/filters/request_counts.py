"""Audit IDs and counters of all requests. Upstream: ``WithAuditInit``, ``WithAudit``, request metrics."""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.errors import StatusError
from steersman.apiserver.filters.max_in_flight import OverloadResponse, is_long_running
from steersman.apiserver.filters.sized_stream import SizedStream
from steersman.apiserver.request import SERVER_USER

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.filters.request_metrics import RequestMetrics, Series
    from steersman.apiserver.http import Filter, Handler, Request, Response


_TOO_MANY_REQUESTS: Final = 429


class AuditIds:
    """Generator of audit IDs in the form of UUIDs: a counter from a random start.

    A counter with 80 random bits is as unique as random numbers and ten times cheaper.
    """

    def __init__(self, randomness: Callable[[int], bytes]) -> None:
        head = bytearray(randomness(10))
        head[6] = head[6] & 0x0F | 0x40
        head[8] = head[8] & 0x3F | 0x80
        text = head.hex()
        self._head = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:]}-".encode()
        self._count = 0

    def next(self) -> bytes:
        """Return a new ID."""
        self._count += 1
        return self._head + b"%012x" % self._count


def _follow_stream(request: Request, response: Response, series: Series) -> None:
    """Count a long-running response until its end, or measure a long one."""
    if is_long_running(request.info):
        series.opened()
        response.on_end = series.closed
    elif series.responses is not None and response.stream is not None:
        response.stream = SizedStream(response.stream, series.responses)


def count_requests(metrics: RequestMetrics, *, monotonic: Callable[[], float] = time.perf_counter) -> Filter:
    """Count authenticated requests by attributes and response code."""
    count = metrics.count

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            started = monotonic()
            dry_run = "All" if request.raw_query and request.raw_query.find(b"dryRun=") >= 0 else ""
            series = metrics.series(request.info, dry_run)
            if request.user.name == SERVER_USER.name:
                series.self_requests += 1
            latency = request.latency
            try:
                response = await handler(request)
            except StatusError as error:
                count(series, error.code, monotonic() - started, latency.excluded_seconds)
                if series.bodies is not None:
                    series.bodies.observe(request.body_size)
                elif series.responses is not None:
                    series.responses.observe(len(encode(error.status)))
                raise
            except Exception:
                count(series, 500, monotonic() - started, latency.excluded_seconds)
                raise
            count(series, response.code, monotonic() - started, latency.excluded_seconds)
            if response.stream is not None:
                _follow_stream(request, response, series)
            elif response.code == _TOO_MANY_REQUESTS and isinstance(response, OverloadResponse):
                series.terminate(_TOO_MANY_REQUESTS)
            elif (sizes := series.responses) is not None:  # ``observe`` without the call
                size = len(response.body)
                sizes.counts[bisect_left(sizes.bounds, size)] += 1
                sizes.total += size
            if (sizes := series.bodies) is not None:
                size = request.body_size
                sizes.counts[bisect_left(sizes.bounds, size)] += 1
                sizes.total += size
            return response

        return filtered

    return wrap
