"""Clusters in child processes of a fork server: their program, and the calls that it serves.

``python -m steersman.testing.host FD`` is the fork server: it starts and stops an embedded cluster once, keeps its state
as the first snapshot of all clusters, and forks. A child (``cluster``) runs one embedded cluster with an HTTPS port, and
answers calls on a Unix socket (``channel``). ``steersman.testing.kit`` is the client in the test's process.
"""
