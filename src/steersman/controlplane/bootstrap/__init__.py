"""Bootstrap controller: turns an API server into a cluster, as a client of it. ``controller`` is its head; see docs/bootstrap.md.

Promises:

* **Plans are pure.** Findings and writes of a pass are a function of the objects that were read and of the time; the loops around
  them read, plan and write.
* **Caches do not decide.** A repair that a cache suggests is checked against the server before an object is removed.
* **No polling.** A pass is started by a watch, by a timer for an object that falls due, or by the periodic pass that covers changes
  a watch missed.
* **No access to the store** but for endpoint leases (``master_leases``) and the node port allocator.
"""
