"""Everything special about the kind ``csidriver``."""
