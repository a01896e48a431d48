"""Request deadlines: ``?timeout=30s`` of requests that are not long-running. Upstream: ``WithRequestDeadline``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from steersman.apimachinery.durations import parse_duration
from steersman.apimachinery.errors import bad_request, timeout
from steersman.apiserver.filters.max_in_flight import is_long_running

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.http import Filter, Handler, Request, Response
    from steersman.apiserver.request import RequestInfo


def request_deadline(*, longest_seconds: float, timed_out: Callable[[RequestInfo], None] | None = None) -> Filter:
    """Raise 400 for an invalid duration, 504 at the deadline. The timeout is at most ``longest_seconds``.

    ``timed_out`` is called for each request that exceeds its deadline.
    """

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            if not request.raw_query or request.raw_query.find(b"timeout=") < 0 or is_long_running(request.info):
                return handler(request)
            return limited(request)

        async def limited(request: Request) -> Response:
            text = request.param("timeout")
            if not text:
                return await handler(request)
            try:
                seconds = parse_duration(text)
            except ValueError as error:
                raise bad_request(f"invalid timeout specified in the request URL - {error}") from None
            if seconds <= 0:
                return await handler(request)
            try:
                async with asyncio.timeout(min(seconds, longest_seconds)):
                    return await handler(request)
            except TimeoutError:
                if timed_out is not None:
                    timed_out(request.info)
                raise timeout("request did not complete within requested timeout - context deadline exceeded") from None

        return filtered

    return wrap
