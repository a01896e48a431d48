"""Strategies of the kinds of ``admissionregistration.k8s.io``: one module a kind."""
