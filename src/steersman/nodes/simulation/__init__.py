"""The simulated kubelet: pure functions from a pod and a moment to the pod's next status.

Nothing is kept in memory. Every deadline is derived from the pod's spec, annotations and status, so a restarted process
continues where the previous one stopped.
"""
