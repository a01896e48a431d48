"""Strategy and validation of ReplicaSets."""
