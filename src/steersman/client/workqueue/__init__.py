"""Work queues of keys, between informers and workers. Upstream: ``k8s.io/client-go/util/workqueue``.

Promises, each with its test:

1. A key added several times before it is processed is processed once.
2. A key is processed by one worker at a time; added meanwhile, it is processed once more after ``done``.
3. Every added key is handed out, before or after a shutdown.
4. Higher priorities first, but a key with n older ones before it is handed out within ``FAIR_TAKE · (n + 1)`` gets.
5. A delayed key is added no earlier than requested, at the earliest of several times; one timer serves all keys.
6. The delay of a failing key grows exponentially, and a token bucket bounds all retries together.
7. After ``shut_down`` no key is accepted, queued keys are still handed out, delayed keys are dropped, and ``get`` raises
   ``ShutDown`` once the queue is empty; ``shut_down_with_drain`` returns when no key is queued or processed.

Every structure is bounded by the number of distinct keys, i.e. of objects that exist or were just deleted.
"""

from steersman.client.workqueue.ordering import FAIR_TAKE, PriorityOrder
from steersman.client.workqueue.queue import ShutDown, WorkQueue
from steersman.client.workqueue.ratelimiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    default_controller_rate_limiter,
)

__all__ = [
    "FAIR_TAKE",
    "BucketRateLimiter",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "MaxOfRateLimiter",
    "PriorityOrder",
    "RateLimiter",
    "ShutDown",
    "WorkQueue",
    "default_controller_rate_limiter",
]
