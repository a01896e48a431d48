"""Work queues: what needs to be looked at, between those who notice it and those who do it.

Promises, each with its test:

1. A key added any number of times while it waits is handed out once.
2. A key is in one worker's hands at a time; added meanwhile, it is handed out once more after ``done``.
3. What was added is handed out, before or after a shutdown.
4. Larger priorities first, but a key with n older ones before it is handed out within ``FAIR_TAKE · (n + 1)`` takes.
5. A delayed key is added no earlier than asked and at the earliest of several moments; one timer serves all.
6. A key that fails waits exponentially longer, and all failures together are bounded by a token bucket.
7. After ``shut_down`` nothing new is taken, what waits is still handed out, delayed keys are dropped, and ``get`` raises
   ``ShutDown`` when it is empty; ``shut_down_with_drain`` returns when no key waits or is at work.

The bound of every part is the number of distinct keys: objects that exist or just did.
"""

from steersman.client.workqueue.ordering import FAIR_TAKE, PriorityOrder
from steersman.client.workqueue.queue import ShutDown, WorkQueue
from steersman.client.workqueue.ratelimiters import (
    FastSlow,
    ItemExponentialBackoff,
    LongestOf,
    OverallBucket,
    RateLimiter,
    default_controller_rate_limiter,
)

__all__ = [
    "FAIR_TAKE",
    "FastSlow",
    "ItemExponentialBackoff",
    "LongestOf",
    "OverallBucket",
    "PriorityOrder",
    "RateLimiter",
    "ShutDown",
    "WorkQueue",
    "default_controller_rate_limiter",
]
