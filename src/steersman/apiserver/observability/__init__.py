"""``/metrics`` in the Prometheus text format."""
