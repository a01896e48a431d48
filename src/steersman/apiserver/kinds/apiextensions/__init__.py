"""Strategies of ``apiextensions.k8s.io``: one module per kind."""
