"""Strategies of the kinds of ``coordination.k8s.io``: one module a kind."""
