"""Strategy, validation and allocation of Services."""
