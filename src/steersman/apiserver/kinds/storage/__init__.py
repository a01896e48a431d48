"""Strategies of the kinds of ``storage.k8s.io``: one module a kind."""
