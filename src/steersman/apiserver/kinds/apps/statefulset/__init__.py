"""Strategy and validation of StatefulSets."""
