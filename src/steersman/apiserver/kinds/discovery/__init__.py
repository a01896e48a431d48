"""Strategies of ``discovery.k8s.io``: one module per kind."""
