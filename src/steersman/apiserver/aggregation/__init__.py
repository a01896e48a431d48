"""Aggregated API servers: availability of APIServices, the proxy to their backends, and what discovery and OpenAPI take from them.

Upstream: staging/src/k8s.io/kube-aggregator.
"""
