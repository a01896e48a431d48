"""Strategies of ``networking.k8s.io``: one module per kind."""
