"""Strategies of ``storage.k8s.io``: one module per kind."""
