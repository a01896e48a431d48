"""ReplicationController and ReplicaSet: one implementation for both, which maintains a number of Pods of one template.

Promises: no Pod is created or deleted while earlier writes are missing in the cache; a Pod is adopted only after the
owner was read from the server and is not being deleted; deletion follows upstream's order; the status is written only
when it changed.
"""
