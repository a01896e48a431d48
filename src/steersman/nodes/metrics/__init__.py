"""Aggregated API server of ``metrics.k8s.io/v1beta1`` for simulated nodes: what metrics-server is for real ones."""
