"""Strategies of the kinds of ``flowcontrol.apiserver.k8s.io``: one module a kind."""
