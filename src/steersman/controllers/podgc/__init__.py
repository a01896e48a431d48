"""Garbage collection of pods (``pod-garbage-collector-controller``).

Pods of missing Nodes, unscheduled terminating pods, terminating pods on out-of-service Nodes, and terminated pods
beyond a threshold.
"""
