"""Strategies of ``coordination.k8s.io``: one module per kind."""
