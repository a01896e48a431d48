"""Everything special about the kind ``event``."""
