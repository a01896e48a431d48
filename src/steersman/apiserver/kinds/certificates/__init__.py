"""Strategies of ``certificates.k8s.io``: one module per kind."""
