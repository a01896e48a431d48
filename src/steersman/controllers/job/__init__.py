"""Job: runs Pods until so many of them have succeeded.

Promises: a Pod that ended counts exactly once, whatever fails in between (it keeps a finalizer until the status has
counted it); no Pod is created or deleted while earlier writes are not in the cache; conditions that say how a Job will
end are written before Pods are let go, and those that say it has ended after all of them have.
"""
