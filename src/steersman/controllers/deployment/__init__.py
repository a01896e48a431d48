"""Deployment: rolls out a template over ReplicaSets at a bounded pace, and keeps a revision history.

``plan`` decides one step from a Deployment and its ReplicaSets; it uses ``rules`` (replicas of each ReplicaSet),
``revisions`` (revision annotations), ``status`` (counts and conditions) and ``hashing`` (ReplicaSet names).
"""
