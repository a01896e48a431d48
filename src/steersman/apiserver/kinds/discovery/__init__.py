"""Strategies of the kinds of ``discovery.k8s.io``: one module a kind."""
