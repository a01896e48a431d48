"""API priority and fairness filter: executes, queues or rejects requests. Upstream: ``WithPriorityAndFairness``.

Decisions are made by ``apiserver/flowcontrol``; this filter waits and responds.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.filters.max_in_flight import is_long_running, is_read, too_many_requests
from steersman.apiserver.flowcontrol.control import FlowRequest
from steersman.apiserver.flowcontrol.levels import CANCELLED, TIME_OUT, Waiting
from steersman.apiserver.flowcontrol.shuffle_sharding import flow_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.filters.max_in_flight import InFlight
    from steersman.apiserver.flowcontrol.control import Flow, FlowControl
    from steersman.apiserver.http import Filter, Handler, Request, Response
    from steersman.apiserver.request import RequestInfo
    from steersman.asynckit.clock import Clock

#: Objects per seat of a list, and the maximum number of seats; upstream's values.
_OBJECTS_PER_SEAT: Final = 100
_SEATS_MAX: Final = 10


class PriorityAndFairness:
    """Dependencies of the filter."""

    def __init__(
        self,
        control: FlowControl,
        *,
        stored: Callable[[RequestInfo], int],
        wait_max_seconds: float,
        clock: Clock,
    ) -> None:
        """``stored``: returns the number of objects that a list may read at most."""
        self.control: Final = control
        self._stored: Final = stored
        self._wait_max_seconds: Final = wait_max_seconds
        self.clock: Final = clock

    def seats(self, info: RequestInfo) -> int:
        """Return the width of a request in seats; lists of many objects are wider."""
        if info.verb != "list" or info.name:
            return 1
        return min(_SEATS_MAX, max(1, -(-self._stored(info) // _OBJECTS_PER_SEAT)))

    async def wait(self, flow: Flow, request: Request, seats: int) -> Waiting | None:
        """Wait until the request may execute; return None if its queue is full or the wait exceeds its limit."""
        counts, level, clock = flow.counts, flow.level, self.clock
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not turn.done():
                turn.set_result(None)

        waiting = Waiting(seats, clock.monotonic(), wake)
        entropy = flow_hash(flow.schema.name, flow.schema.flow_of(request.user, request.info))
        reason = level.enqueue(entropy, waiting, counts)
        if reason:
            counts.waited_in_vain_seconds.observe(0)
            counts.reject(reason)
            return None
        self.control.waiting[waiting] = FlowRequest(
            flow, request.user, request.info, seats, waiting.arrived, None, waiting
        )
        counts.waiting += 1
        counts.waiting_seats += seats
        timer = clock.timer(self._wait_max_seconds, wake)
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(flow, waiting, CANCELLED)
            raise
        finally:
            timer.cancel()
            del self.control.waiting[waiting]
            counts.waiting -= 1
            counts.waiting_seats -= seats
        if not waiting.dispatched:
            self._give_up(flow, waiting, TIME_OUT)
            return None
        counts.waited_seconds.observe(clock.monotonic() - waiting.arrived)
        return waiting

    def _give_up(self, flow: Flow, waiting: Waiting, reason: str) -> None:
        now = self.clock.monotonic()
        if waiting.dispatched:
            flow.level.finish(waiting.seats, now, waited=waiting)
        else:
            flow.level.leave(waiting, now)
        flow.counts.waited_in_vain_seconds.observe(now - waiting.arrived)
        flow.counts.reject(reason)

    def rejection(self, flow: Flow) -> Response:
        """Return the response to a rejected request."""
        response = too_many_requests(flow.level.retry_after.refuse(self.clock.monotonic()))
        response.headers += flow.headers
        return response


def priority_and_fairness(means: PriorityAndFairness, in_flight: InFlight) -> Filter:
    """Limit requests; those that are rejected get 429.

    A watch holds its seats until it is initialized; other long-running requests are exempt.
    """
    classify, monotonic = means.control.classify, means.clock.monotonic
    running = means.control.executing

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            info = request.info
            if info.verb != "watch" and is_long_running(info):
                return await handler(request)
            flow = classify(request.user, info)
            level, counts = flow.level, flow.counts
            seats = means.seats(info) if info.verb == "list" else 1
            waited: Waiting | None = None
            arrived = started = monotonic()
            if level.begin(seats, started):
                counts.waited_seconds.counts[0] += 1
            else:
                in_flight.count_queued(info, 1)
                try:
                    waited = await means.wait(flow, request, seats)
                finally:
                    in_flight.count_queued(info, -1)
                if waited is None:
                    return means.rejection(flow)
                started = monotonic()
                request.latency.excluded_seconds += started - arrived
            counts.executing += 1
            counts.executing_seats += seats
            running[request] = FlowRequest(flow, request.user, info, seats, arrived, started, waited)
            is_reading = is_read(info)
            if is_reading:
                in_flight.reading += 1
            else:
                in_flight.mutating += 1
            try:
                response = await handler(request)
            except StatusError as error:
                error.add_headers(flow.headers)
                raise
            finally:
                ended = monotonic()
                level.finish(seats, ended, waited=waited)
                counts.dispatched += 1
                del running[request]
                counts.executing -= 1
                counts.executing_seats -= seats
                counts.execution_seconds.observe(ended - started)
                if seats > 1:
                    counts.seats.observe(seats)
                else:
                    counts.seats.counts[0] += 1
                    counts.seats.total += 1
                if is_reading:
                    in_flight.reading -= 1
                else:
                    in_flight.mutating -= 1
            response.headers += flow.headers
            return response

        return filtered

    return wrap
