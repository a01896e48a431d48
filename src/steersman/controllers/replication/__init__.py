"""ReplicationController and ReplicaSet: one core for both, which keeps so many Pods of one template alive.

Promises: no Pod is created or deleted while earlier writes are not in the cache; a Pod is adopted only by an owner that
was just read from the server and is not being deleted; whom to delete follows upstream's order; the status is written
only when it changed.
"""
