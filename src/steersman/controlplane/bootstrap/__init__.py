"""Bootstrap controller: turns an API server into a cluster, as a client of it. ``controller`` is its entry point; see
docs/bootstrap.md.

Promises:

* **Plans are pure.** Findings and writes of a pass are a function of the read objects and the time; the loops around
  them read, plan and write.
* **Caches do not decide.** A repair that a cache suggests is checked against the server before an object is removed.
* **No polling.** A pass is started by a watch event, by the timer of an object, or by the periodic resync.
* **No access to the store** except for endpoint leases (``master_leases``) and the node port allocator.
"""
