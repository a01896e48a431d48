"""Strategies of ``resource.k8s.io`` (dynamic resource allocation): one module per kind."""
