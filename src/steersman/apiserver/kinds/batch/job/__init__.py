"""Everything special about the kind ``job``."""
