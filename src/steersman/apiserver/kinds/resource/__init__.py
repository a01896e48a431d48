"""Strategies of the kinds of ``resource.k8s.io``: one module a kind."""
