"""Strategy and validation of Events."""
