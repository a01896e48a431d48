"""One priority level: its seats, and fair queues before them (``queueset`` upstream).

Fairness is that of fair queuing by virtual time: all queues that have something to do would be served at once, each at the
same rate; a queue's next request is due when that ideal server would be through with it, and the one that is due first goes.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.flowcontrol.shares import Demand, Limits
from steersman.apiserver.flowcontrol.shuffling import deal

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.flowcontrol.counts import FlowCounts

    Tree = dict[str, Any]

QUEUE_FULL: Final = "queue-full"
CONCURRENCY_LIMIT: Final = "concurrency-limit"
TIME_OUT: Final = "time-out"
CANCELLED: Final = "cancelled"
#: What a request is expected to take until it has, as upstream guesses.
_EXPECTED_SECONDS: Final = 0.003
_RETRY_AFTER_MAX_SECONDS: Final = 32


class Waiting:
    """One request in a queue. ``wake`` is called when it may run; its seats are taken by then."""

    __slots__ = ("_queue", "_since", "arrived", "dispatched", "seats", "wake")

    def __init__(self, seats: int, arrived: float, wake: Callable[[], None]) -> None:
        self.seats: Final = seats
        self.arrived: Final = arrived
        self.wake: Final = wake
        self.dispatched = False
        #: When its seats were taken.
        self._since = arrived
        self._queue: _Queue


class _Queue:
    __slots__ = ("due", "in_use", "number", "requests", "waiting_seats")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        self.requests: Final[deque[Waiting]] = deque()
        self.waiting_seats = 0
        #: Seats of requests that came from here.
        self.in_use = 0
        #: In virtual time: when the ideal server would begin with the first request.
        self.due = 0.0


class RetryAfter:
    """When refused clients shall come back: later, the more of them there are (``dropped_requests_tracker``)."""

    __slots__ = ("_dropped", "_since", "seconds")

    def __init__(self) -> None:
        self.seconds = 1
        self._since = 0.0
        self._dropped = 0

    def refuse(self, now: float) -> int:
        """The seconds for one more that is refused."""
        if now - self._since >= self.seconds:
            if self._dropped >= 3 * self.seconds:
                self.seconds = min(_RETRY_AFTER_MAX_SECONDS, 2 * self.seconds)
            elif self._dropped < self.seconds:
                self.seconds = max(1, self.seconds - 1)
            self._since = now
            self._dropped = 0
        self._dropped += 1
        return self.seconds


class PriorityLevel:
    """A level under load. Times are those of one monotonic clock, in seconds."""

    def __init__(self, name: str, *, now: float) -> None:
        self.name: Final = name
        self.uid = ""
        self.exempt = False
        self.limits = Limits(0, 0, 0)
        #: Seats that may be in use now: between ``limits.lower`` and ``limits.upper``.
        self.limit = 0
        self.in_use = 0
        self.waiting = 0
        self.demand: Final = Demand(now)
        self.retry_after: Final = RetryAfter()
        self._waiting_seats = 0
        self._queues: list[_Queue] = []
        self._hand_size = 0
        self._length_max = 0
        #: Those with requests that wait or run, by number: only they share the virtual time.
        self._active: Final[dict[int, _Queue]] = {}
        self._virtual = 0.0
        self._advanced = now

    def configure(self, spec: Tree, limits: Limits, *, uid: str, now: float) -> None:
        """Take over what the object says. What waits stays where it is, also in queues that are no more dealt."""
        self._advance(now)
        self.uid = uid
        self.exempt = spec.get("type") == "Exempt"
        if limits != self.limits:
            self.limits = limits
            self.limit = limits.nominal
        queuing = ((spec.get("limited") or {}).get("limitResponse") or {}).get("queuing") or {}
        count = queuing.get("queues") or 0
        if count != len(self._queues):
            self._queues = [self._active.get(number) or _Queue(number) for number in range(count)]
        self._hand_size = queuing.get("handSize") or 1
        self._length_max = queuing.get("queueLengthLimit") or 0
        self._dispatch()

    def resize(self, limit: int, now: float) -> None:
        """Seats have been lent or given back."""
        self._advance(now)
        self.limit = limit
        self._dispatch()

    def begin(self, seats: int, now: float) -> bool:
        """Whether a request may run at once; its seats are taken then, to be given back by ``finish``."""
        if self.exempt:
            self.in_use += seats
            return True
        if self.waiting or not self._fits(seats):
            return False
        self.in_use += seats
        self.demand.add(seats, now)
        return True

    def enqueue(self, entropy: int, waiting: Waiting, counts: FlowCounts) -> str:
        """Put a request into the shortest queue of its flow's hand; the reason when it is refused, else empty."""
        if not self._queues:
            return CONCURRENCY_LIMIT
        hand = deal(entropy, deck_size=len(self._queues), hand_size=self._hand_size)
        queue = min((self._queues[number] for number in hand), key=lambda one: one.waiting_seats + one.in_use)
        if len(queue.requests) >= self._length_max:
            return QUEUE_FULL
        now = waiting.arrived
        self._advance(now)
        if queue.number not in self._active:
            queue.due = self._virtual
            self._active[queue.number] = queue
        queue.requests.append(waiting)
        waiting._queue = queue
        counts.queue_lengths.observe(len(queue.requests))
        queue.waiting_seats += waiting.seats
        self.waiting += 1
        self._waiting_seats += waiting.seats
        self.demand.add(waiting.seats, now)
        self._dispatch()
        return ""

    def leave(self, waiting: Waiting, now: float) -> None:
        """A request that still waits gives up."""
        self._advance(now)
        queue = waiting._queue
        queue.requests.remove(waiting)
        self._unqueue(queue, waiting)
        self.demand.add(-waiting.seats, now)
        self._rest(queue)
        self._dispatch()  # it may have been too wide for the seats that others fit

    def finish(self, seats: int, now: float, *, waited: Waiting | None = None) -> None:
        """A request is through; ``waited`` is what it was in the queue, if it was."""
        self.in_use -= seats
        if self.exempt:
            return
        self.demand.add(-seats, now)
        if waited is None and not self.waiting:
            return
        self._advance(now)
        if waited is not None:
            queue = waited._queue
            queue.in_use -= seats
            queue.due += (now - waited._since - _EXPECTED_SECONDS) * seats
            self._rest(queue)
        self._dispatch()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _fits(self, seats: int) -> bool:
        # what is wider than the whole level runs alone
        return self.in_use + seats <= self.limit or self.in_use == 0

    def _advance(self, now: float) -> None:
        """Virtual time goes at the rate at which each active queue would be served."""
        if self._active:
            served = min(self.limit, self.in_use + self._waiting_seats)
            self._virtual += (now - self._advanced) * served / len(self._active)
        self._advanced = now

    def _dispatch(self) -> None:
        """Let go whoever fits, in the order of who is due first."""
        while self.waiting:
            queue = min(
                (one for one in self._active.values() if one.requests),
                key=lambda one: one.due + one.requests[0].seats * _EXPECTED_SECONDS,
            )
            first = queue.requests[0]
            if not self.exempt and not self._fits(first.seats):
                return
            queue.requests.popleft()
            self._unqueue(queue, first)
            queue.in_use += first.seats
            queue.due += first.seats * _EXPECTED_SECONDS
            self.in_use += first.seats
            first.dispatched = True
            first._since = self._advanced
            first.wake()

    def _unqueue(self, queue: _Queue, waiting: Waiting) -> None:
        queue.waiting_seats -= waiting.seats
        self.waiting -= 1
        self._waiting_seats -= waiting.seats

    def _rest(self, queue: _Queue) -> None:
        if not queue.requests and not queue.in_use:
            self._active.pop(queue.number, None)
