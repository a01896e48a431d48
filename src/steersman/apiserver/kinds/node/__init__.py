"""Strategies of ``node.k8s.io``: one module per kind."""
