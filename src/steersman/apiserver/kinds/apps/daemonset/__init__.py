"""Strategy and validation of DaemonSets."""
