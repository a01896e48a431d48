"""DaemonSet: one Pod on each node that it is for.

Promises: a node gets a second Pod only where a surge may replace the first; no Pod is created or deleted while earlier
writes are not in the cache; an update never makes more nodes go without an available Pod than it may; a Pod that fails
again and again is replaced ever more slowly.
"""
