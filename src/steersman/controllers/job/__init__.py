"""Job: runs Pods until the required number has succeeded.

Promises: a finished Pod is counted exactly once, despite failures (it has a finalizer until the status counts it); no Pod is
created or deleted while earlier writes are missing in the cache; ``SuccessCriteriaMet`` and
``FailureTarget`` are written before Pods are terminated, ``Complete`` and ``Failed`` after all have.
"""
