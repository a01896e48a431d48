"""One priority level: seats, and fair queues. Upstream: ``flowcontrol/fairqueuing/queueset``.

Fair queuing by virtual time: an ideal server would serve all active queues simultaneously at the same rate; a queue's
next request is due when that server would start it, and the request due first is dispatched.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from steersman.apiserver.flowcontrol.shares import Limits, SeatDemand
from steersman.apiserver.flowcontrol.shuffle_sharding import deal

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.flowcontrol.counts import FlowCounts


QUEUE_FULL: Final = "queue-full"
CONCURRENCY_LIMIT: Final = "concurrency-limit"
TIME_OUT: Final = "time-out"
CANCELLED: Final = "cancelled"
#: Estimated duration of a request until it is known, as upstream.
EXPECTED_SECONDS: Final = 0.003
_RETRY_AFTER_MAX_SECONDS: Final = 32


class Waiting:
    """A queued request. ``wake`` is called when it is dispatched, after its seats are taken."""

    __slots__ = ("_queue", "_since", "arrived", "dispatched", "seats", "wake")

    def __init__(self, seats: int, arrived: float, wake: Callable[[], None]) -> None:
        self.seats: Final = seats
        self.arrived: Final = arrived
        self.wake: Final = wake
        self.dispatched = False
        #: Time of dispatch.
        self._since = arrived
        self._queue: FlowQueue

    @property
    def queue_number(self) -> int:
        """Number of its queue in the level."""
        return self._queue.number


class FlowQueue:
    """One of the queues of a level."""

    __slots__ = ("due", "in_use", "number", "requests", "waiting_seats")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        self.requests: Final[deque[Waiting]] = deque()
        self.waiting_seats = 0
        #: Seats in use by requests of this queue.
        self.in_use = 0
        #: Virtual start time of the first request.
        self.due = 0.0


class RetryAfter:
    """``Retry-After`` of rejected requests, increasing with their rate. Upstream: ``dropped_requests_tracker``."""

    __slots__ = ("_dropped", "_since", "seconds")

    def __init__(self) -> None:
        self.seconds = 1
        self._since = 0.0
        self._dropped = 0

    def refuse(self, now: float) -> int:
        """Count a rejected request; return its seconds."""
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
    """A priority level. Times are in seconds of one monotonic clock."""

    def __init__(self, name: str, *, now: float) -> None:
        self.name: Final = name
        self.uid = ""
        self.spec: Tree = {}
        #: Its object is deleted, but it is not idle yet.
        self.is_quiescing = False
        self.exempt = False
        self.limits = Limits(0, 0, 0)
        #: Current limit of seats, between ``limits.lower`` and ``limits.upper``.
        self.limit = 0
        self.in_use = 0
        self.waiting = 0
        self.demand: Final = SeatDemand(now)
        self.retry_after: Final = RetryAfter()
        self._waiting_seats = 0
        self._queues: list[FlowQueue] = []
        self._hand_size = 0
        self._length_max = 0
        #: Queues with queued or running requests, by number; they share the virtual time.
        self._active: Final[dict[int, FlowQueue]] = {}
        self._virtual = 0.0
        self._advanced = now

    @property
    def is_idle(self) -> bool:
        """True if no request waits or executes."""
        return not self.waiting and not self.in_use

    def configure(self, spec: Tree, limits: Limits, *, uid: str, now: float) -> None:
        """Apply the level's spec. Queued requests keep their queue, even if it is no longer dealt."""
        self._advance(now)
        self.uid = uid
        self.spec = spec
        self.exempt = spec.get("type") == "Exempt"
        if limits != self.limits:
            self.limits = limits
            self.limit = limits.nominal
        queuing = ((spec.get("limited") or {}).get("limitResponse") or {}).get("queuing") or {}
        count = queuing.get("queues") or 0
        if count != len(self._queues):
            self._queues = [self._active.get(number) or FlowQueue(number) for number in range(count)]
        self._hand_size = queuing.get("handSize") or 1
        self._length_max = queuing.get("queueLengthLimit") or 0
        self._dispatch()

    def resize(self, limit: int, now: float) -> None:
        """Set the limit of seats after lending or borrowing."""
        self._advance(now)
        self.limit = limit
        self._dispatch()

    def begin(self, seats: int, now: float) -> bool:
        """Take seats if the request can run immediately; return whether it can. Release them by ``finish``."""
        if self.exempt:
            self.in_use += seats
            return True
        if self.waiting or not self._fits(seats):
            return False
        self.in_use += seats
        self.demand.add(seats, now)
        return True

    def enqueue(self, entropy: int, waiting: Waiting, counts: FlowCounts) -> str:
        """Add a request to the shortest queue of its flow's hand; return the reason of a rejection, else an empty
        string.
        """
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
        """Remove a request that stops waiting."""
        self._advance(now)
        queue = waiting._queue
        queue.requests.remove(waiting)
        self._unqueue(queue, waiting)
        self.demand.add(-waiting.seats, now)
        self._rest(queue)
        self._dispatch()  # requests behind it may fit the free seats

    def finish(self, seats: int, now: float, *, waited: Waiting | None = None) -> None:
        """Release the seats of a finished request; ``waited``: its queue entry, if it was queued."""
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
            queue.due += (now - waited._since - EXPECTED_SECONDS) * seats
            self._rest(queue)
        self._dispatch()

    def queue_states(self) -> list[FlowQueue]:
        """Return the queues by number, also those that are no longer dealt but not empty."""
        queues = {queue.number: queue for queue in self._queues} | self._active
        return [queue for _, queue in sorted(queues.items())]

    # -- inside --------------------------------------------------------------------------------------------------------

    def _fits(self, seats: int) -> bool:
        # a request wider than the limit runs alone
        return self.in_use + seats <= self.limit or self.in_use == 0

    def _advance(self, now: float) -> None:
        """Advance the virtual time by the rate at which each active queue is served."""
        if self._active:
            served = min(self.limit, self.in_use + self._waiting_seats)
            self._virtual += (now - self._advanced) * served / len(self._active)
        self._advanced = now

    def _dispatch(self) -> None:
        """Dispatch requests in order of their due time while they fit."""
        while self.waiting:
            queue = min(
                (one for one in self._active.values() if one.requests),
                key=lambda one: one.due + one.requests[0].seats * EXPECTED_SECONDS,
            )
            first = queue.requests[0]
            if not self.exempt and not self._fits(first.seats):
                return
            queue.requests.popleft()
            self._unqueue(queue, first)
            queue.in_use += first.seats
            queue.due += first.seats * EXPECTED_SECONDS
            self.in_use += first.seats
            first.dispatched = True
            first._since = self._advanced
            first.wake()

    def _unqueue(self, queue: FlowQueue, waiting: Waiting) -> None:
        queue.waiting_seats -= waiting.seats
        self.waiting -= 1
        self._waiting_seats -= waiting.seats

    def _rest(self, queue: FlowQueue) -> None:
        if not queue.requests and not queue.in_use:
            self._active.pop(queue.number, None)
