"""Metrics of priority and fairness (``apiserver_flowcontrol_*``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import counter, gauge, histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from steersman.apimachinery.histogram import Histogram
    from steersman.apiserver.flowcontrol.control import FlowControl
    from steersman.apiserver.flowcontrol.counts import FlowCounts
    from steersman.apiserver.flowcontrol.levels import PriorityLevel
    from steersman.apiserver.observability.metrics import Family, Labels

_PREFIX: Final = "apiserver_flowcontrol_"

_OF_LEVELS: Final[tuple[tuple[str, str, Callable[[PriorityLevel], float]], ...]] = (
    ("nominal_limit_seats", "Seats that a level has of its own.", lambda level: level.limits.nominal),
    ("lower_limit_seats", "Seats that a level never lends.", lambda level: level.limits.lower),
    ("upper_limit_seats", "Seats that a level may have with what it borrows.", lambda level: level.limits.upper),
    ("current_limit_seats", "Seats that a level may use now.", lambda level: level.limit),
    ("demand_seats_high_watermark", "Most seats asked for in this period.", lambda level: level.demand.peak),
    ("demand_seats_average", "Mean of the seats asked for in the last period.", lambda level: level.demand.average),
    ("demand_seats_stdev", "Spread of the seats asked for in the last period.", lambda level: level.demand.deviation),
    ("demand_seats_smoothed", "Seats asked for, over periods.", lambda level: level.demand.smoothed),
)
_OF_FLOWS: Final[tuple[tuple[str, str, Callable[[FlowCounts], float]], ...]] = (
    ("current_executing_requests", "Requests that run.", lambda counts: counts.executing),
    ("current_executing_seats", "Seats of requests that run.", lambda counts: counts.executing_seats),
    ("current_inqueue_requests", "Requests that wait.", lambda counts: counts.waiting),
    ("current_inqueue_seats", "Seats of requests that wait.", lambda counts: counts.waiting_seats),
)
_HISTOGRAMS: Final[tuple[tuple[str, str, Callable[[FlowCounts], Histogram], Labels], ...]] = (
    ("request_execution_seconds", "How long requests ran.", lambda counts: counts.execution_seconds, (("type", "regular"),)),
    ("request_wait_duration_seconds", "How long requests waited.", lambda c: c.waited_seconds, (("execute", "true"),)),
    (
        "request_wait_duration_seconds",
        "How long requests waited.",
        lambda counts: counts.waited_in_vain_seconds,
        (("execute", "false"),),
    ),
    ("request_queue_length_after_enqueue", "Requests in a queue.", lambda counts: counts.queue_lengths, ()),
    ("work_estimated_seats", "Seats that requests were thought to need.", lambda counts: counts.seats, ()),
)  # fmt: skip


class FlowControlMetrics:
    """Collector of the flow control counters."""

    def __init__(self, control: FlowControl) -> None:
        self._control: Final = control

    async def collect(self) -> Iterable[Family]:
        """Return metrics for ``/metrics``."""
        return list(self._families())

    def _families(self) -> Iterator[Family]:
        control = self._control
        limited = [level for level in control.levels.values() if not level.exempt]
        for name, text, of_level in _OF_LEVELS:
            yield gauge(_PREFIX + name, text, [(_level(level.name), of_level(level)) for level in limited])
        targets = [(_level(name), target) for name, target in control.targets.items()]
        yield gauge(_PREFIX + "target_seats", "Seats that levels want.", targets)
        yield gauge(_PREFIX + "seat_fair_frac", "Part of it that they get.", [((), control.fair_proportion)])
        flows = [(_flow(*key), counts) for key, counts in control.counts.items()]
        for name, text, of_flow in _OF_FLOWS:
            yield gauge(_PREFIX + name, text, [(labels, of_flow(counts)) for labels, counts in flows])
        dispatched = [(labels, counts.dispatched) for labels, counts in flows]
        yield counter(_PREFIX + "dispatched_requests_total", "Requests that ran.", dispatched)
        yield counter(
            _PREFIX + "rejected_requests_total",
            "Requests that were refused.",
            [((*labels, ("reason", reason)), n) for labels, counts in flows for reason, n in counts.rejected.items()],
        )
        yield from self._histograms(flows)

    def _histograms(self, flows: list[tuple[Labels, FlowCounts]]) -> Iterator[Family]:
        families: dict[str, tuple[str, list[tuple[Labels, Histogram]]]] = {}
        for name, text, of_flow, more in _HISTOGRAMS:
            _, histograms = families.setdefault(name, (text, []))
            histograms += [
                ((*labels, *more), of_flow(counts)) for labels, counts in flows if counts.dispatched or counts.rejected
            ]
        for name, (text, histograms) in families.items():
            yield histogram(_PREFIX + name, text, histograms)


def _level(name: str) -> Labels:
    return (("priority_level", name),)


def _flow(schema: str, level: str) -> Labels:
    return (("flow_schema", schema), ("priority_level", level))
