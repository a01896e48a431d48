"""Strategies of the kinds of ``node.k8s.io``: one module a kind."""
