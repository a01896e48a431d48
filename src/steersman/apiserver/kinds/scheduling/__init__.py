"""Strategies of ``scheduling.k8s.io``: one module per kind."""
