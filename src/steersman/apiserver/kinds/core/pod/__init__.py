"""Everything special about the kind ``pod``."""
