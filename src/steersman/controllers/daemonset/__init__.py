"""DaemonSet: one Pod on each eligible node.

Promises: a node gets a second Pod only for a surge update; no Pod is created or deleted while earlier writes are
missing in the cache; an update never exceeds ``maxUnavailable`` or ``maxSurge``; Pods that keep failing are replaced
with backoff.
"""
