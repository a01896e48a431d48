"""Strategies of the kinds of ``rbac.authorization.k8s.io``: one module a kind."""
