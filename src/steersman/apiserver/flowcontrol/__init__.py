"""API priority and fairness (KEP-1040): whose requests are handled at once, whose wait, and whose are refused.

Pure but for the time, which comes in as a parameter; the filter ``filters.flow_control`` waits and answers. Promises, which
the tests check:

- Every request belongs to exactly one flow: of the schema that comes first, told apart by user or namespace.
- No level has more seats in use than its limit, unless a single request is wider than all of it.
- Among queues that have something to do none is served more than its share: who floods waits behind himself.
- Queues are bounded: what finds its queue full is refused, and so is what waits too long.
- A level never gets less than it does not lend, nor more than it may borrow.

Simpler than upstream: a request that can start at once is not charged to a queue; the work that a write makes for watchers
is not estimated; a list is as wide as what is stored is large, whatever its limit and selectors; the seat of a list that is
streamed is free again when the answer begins.
"""
