"""Aggregated API server of ``metrics.k8s.io/v1beta1`` for simulated nodes, in place of metrics-server."""
