"""Audit log of requests in upstream's format (``audit.k8s.io/v1``).

Guarantees, covered by tests:

- ``policy``: the first matching rule decides; an invalid policy file is rejected with the reason.
- ``event``: an event has what the policy's level allows, and no headers but the user agent and source addresses.
- ``log``: the queue is bounded. In the blocking modes requests wait until their event is written; in batch mode events
  are dropped and counted when the queue is full. Accepted events are written before ``close`` returns.
- ``files``: existing files are never overwritten; a full file is renamed with a timestamp, and backups expire by age and
  number.
"""
