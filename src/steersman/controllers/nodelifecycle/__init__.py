"""Taints of unhealthy Nodes, and readiness of their pods (``node-lifecycle-controller``)."""
