"""Strategies of ``admissionregistration.k8s.io``: one module per kind."""
