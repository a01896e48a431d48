"""Dumps of priority levels, queues and requests as text. Upstream: ``flowcontrol/apf_controller_debug.go``.

Names of columns are upstream's, including ``FlowDistingsher``. Queue and position of a request that was not queued are -1.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apiserver.flowcontrol.levels import CANCELLED, CONCURRENCY_LIMIT, EXPECTED_SECONDS, QUEUE_FULL, TIME_OUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from steersman.apiserver.flowcontrol.control import FlowControl, FlowRequest
    from steersman.apiserver.flowcontrol.counts import FlowCounts

_LEVEL_COLUMNS: Final = (
    "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
    "DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests",
)  # fmt: skip
_QUEUE_COLUMNS: Final = (
    "PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR",
    "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum",
)  # fmt: skip
_REQUEST_COLUMNS: Final = (
    "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime",
    "InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime",
)  # fmt: skip
_DETAIL_COLUMNS: Final = (
    "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource",
)  # fmt: skip
#: Go's zero time, the start of requests that wait.
_NOT_STARTED: Final = datetime(1, 1, 1, tzinfo=UTC)
_WIDTH_MIN: Final = 8


class Instant(NamedTuple):
    """One instant on both clocks."""

    wall: datetime
    monotonic: float

    def wall_time_of(self, monotonic: float) -> datetime:
        """Return the wall clock time of a monotonic one."""
        return self.wall - timedelta(seconds=self.monotonic - monotonic)


def dump_priority_levels(control: FlowControl) -> str:
    """Return one row for each priority level, by name."""
    rows: list[Sequence[str]] = [_LEVEL_COLUMNS]
    for name, level in sorted(control.levels.items()):
        counts = [counts for (_, level_name), counts in control.counts.items() if level_name == name]
        executing = sum(flow.executing for flow in counts)
        row = (
            name,
            str(sum(bool(queue.requests) for queue in level.queue_states())),
            _boolean(not level.waiting and not executing),
            _boolean(level.is_quiescing),
            str(level.waiting),
            str(executing),
            str(sum(flow.dispatched for flow in counts) + executing),
            _rejections(counts, QUEUE_FULL, CONCURRENCY_LIMIT),
            _rejections(counts, TIME_OUT),
            _rejections(counts, CANCELLED),
        )
        rows.append(row)
    return _table(rows)


def dump_queues(control: FlowControl) -> str:
    """Return one row for each queue, by level and number."""
    rows: list[Sequence[str]] = [_QUEUE_COLUMNS]
    executing: dict[tuple[str, int], int] = {}
    for request in control.executing.values():
        key = (request.flow.level.name, request.queue_number)
        executing[key] = executing.get(key, 0) + 1
    for name, level in sorted(control.levels.items()):
        for queue in level.queue_states():
            seats = str(queue.waiting_seats)
            row = (
                name,
                str(queue.number),
                str(len(queue.requests)),
                str(executing.get((name, queue.number), 0)),
                str(queue.in_use),
                _seat_seconds(queue.due),
                seats,
                seats,
                _seat_seconds(queue.waiting_seats * EXPECTED_SECONDS),
            )
            rows.append(row)
    return _table(rows)


def dump_requests(control: FlowControl, now: Instant, *, with_details: bool) -> str:
    """Return one row for each request that waits or executes, by level and queue, those that were not queued last."""
    columns = (*_REQUEST_COLUMNS, *_DETAIL_COLUMNS) if with_details else _REQUEST_COLUMNS
    rows: list[Sequence[str]] = [columns]
    for request, position in _requests(control):
        flow, info = request.flow, request.info
        started = _NOT_STARTED if request.started is None else now.wall_time_of(request.started)
        row: tuple[str, ...] = (
            flow.level.name,
            flow.schema.name,
            str(request.queue_number),
            str(position),
            flow.schema.flow_of(request.user, info),
            _rfc3339_nano(now.wall_time_of(request.arrived)),
            str(request.seats),
            "0",
            "0s",
            _rfc3339_nano(started),
        )
        if with_details:
            group_version = f"{info.group}/{info.version}" if info.group else info.version
            user = request.user.name
            row += (
                user,
                info.verb,
                info.path,
                info.namespace,
                info.name,
                group_version,
                info.resource,
                info.subresource,
            )
        rows.append(row)
    return _table(rows)


def _requests(control: FlowControl) -> Iterator[tuple[FlowRequest, int]]:
    """Yield requests with their position in the queue, -1 if they execute."""
    executing = list(control.executing.values())
    for name, level in sorted(control.levels.items()):
        of_level = [request for request in executing if request.flow.level.name == name]
        for queue in level.queue_states():
            for position, waiting in enumerate(queue.requests):
                if waiting in control.waiting:
                    yield control.waiting[waiting], position
            for request in of_level:
                if request.queue_number == queue.number:
                    yield request, -1
        for request in of_level:
            if request.queue_number < 0:
                yield request, -1


def _rejections(counts: Iterable[FlowCounts], *reasons: str) -> str:
    return str(sum(flow.rejected.get(reason, 0) for flow in counts for reason in reasons))


def _boolean(value: bool) -> str:  # noqa: FBT001 — the value itself
    return "true" if value else "false"


def _seat_seconds(value: float) -> str:
    """Upstream: ``SeatSeconds.String``."""
    return f"{value:.8f}ss"


def _rfc3339_nano(time: datetime) -> str:
    """Return a UTC time as Go's layout ``time.RFC3339Nano``, without trailing zeros of the fraction."""
    whole = time.replace(microsecond=0, tzinfo=None).isoformat()
    fraction = f".{time.microsecond:06}".rstrip("0") if time.microsecond else ""
    return f"{whole}{fraction}Z"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows with aligned columns. Upstream: Go's ``text/tabwriter``; the last column is not padded."""
    lines = [[*(f"{cell}," for cell in row[:-1]), row[-1]] for row in rows]
    widths = [max(_WIDTH_MIN, *(len(cell) + 1 for cell in column)) for column in list(zip(*lines, strict=True))[:-1]]
    return "".join(
        "".join(cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True)) + "\n" for line in lines
    )
