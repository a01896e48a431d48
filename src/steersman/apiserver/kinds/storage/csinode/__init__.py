"""Everything special about the kind ``csinode``."""
