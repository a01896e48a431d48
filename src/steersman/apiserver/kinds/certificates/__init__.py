"""Strategies of the kinds of ``certificates.k8s.io``: one module a kind."""
