"""Strategies of the kinds of ``apiextensions.k8s.io``: one module a kind."""
