"""Strategy and validation of CSINodes."""
