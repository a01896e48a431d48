"""Strategies of the kinds of ``apiregistration.k8s.io``: one module a kind."""
