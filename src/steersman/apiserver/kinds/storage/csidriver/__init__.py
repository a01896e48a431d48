"""Strategy and validation of CSIDrivers."""
