"""Strategy and status validation of ResourceClaims."""
