"""API priority and fairness (KEP-1040): immediate execution, queuing and rejection of requests.

Pure functions of a time parameter; the filter ``filters.priority_and_fairness`` waits and responds. Guarantees, covered
by tests:

- Every request belongs to exactly one flow: the first matching FlowSchema, distinguished by user or namespace.
- A level does not use more seats than its limit, except for a single request wider than the limit.
- Among active queues none is served more than its share: a flooding flow delays only its own queue.
- Queues are bounded: requests are rejected when their queue is full or they have waited too long.
- A level never has fewer seats than it does not lend, nor more than it may borrow.

Simplifications: a request that starts immediately is not charged to a queue; the work of a write for watchers is not
estimated; the width of a list follows the number of stored objects, whatever its limit and selectors; a streamed list
releases its seats when the response begins.
"""
