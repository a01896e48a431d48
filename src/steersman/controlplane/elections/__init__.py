"""Coordinated leader election (KEP-4355): assigns a Lease to one of its LeaseCandidates.

Upstream: ``pkg/controlplane/controller/leaderelection``. Promises:

* **Stateless.** ``step.decide`` maps the Lease, its candidates and the time to a write; it depends on no earlier step, so
  any number of API servers may run it concurrently: every write carries the version it is based on, and the loser of a
  race starts again.
* **One holder.** The holder is changed only if the Lease has none or has expired; a better candidate is published as
  preferred holder, and the holder yields by itself.
* **Progress.** Every decision contains the time of the next step, and a failed step is retried.
* **No needless waiting.** All candidates are pinged at once; a free Lease is assigned as soon as no missing
  acknowledgement could change the result.
"""
