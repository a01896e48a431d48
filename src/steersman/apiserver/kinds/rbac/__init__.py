"""Strategies of ``rbac.authorization.k8s.io``: one module per kind."""
