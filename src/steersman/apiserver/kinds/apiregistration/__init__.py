"""Strategies of ``apiregistration.k8s.io``: one module per kind."""
