"""Strategy and validation of Leases."""
