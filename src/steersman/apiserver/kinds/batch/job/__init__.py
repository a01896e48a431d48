"""Strategy, validation and warnings of Jobs."""
