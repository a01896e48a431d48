"""Deployment: rolls a template out over ReplicaSets, at a bounded pace, and remembers earlier ones.

``plan`` decides one step from a Deployment and its ReplicaSets; it leans on ``rules`` (how many replicas where),
``revisions`` (what is remembered), ``status`` (what is told) and ``hashing`` (how a ReplicaSet gets its name).
"""
