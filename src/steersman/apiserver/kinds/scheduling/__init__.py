"""Strategies of the kinds of ``scheduling.k8s.io``: one module a kind."""
