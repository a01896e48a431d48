"""Strategy and validation of ResourceSlices."""
