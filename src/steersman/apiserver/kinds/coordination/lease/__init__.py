"""Everything special about the kind ``lease``."""
