"""Simulated kubelet: pure functions from a pod and a time to the pod's next status.

It has no state in memory. Every deadline is derived from the pod's spec, annotations and status, so a restarted process
continues where the previous one stopped.
"""
