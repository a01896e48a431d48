"""Everything special about the kind ``deployment``."""
