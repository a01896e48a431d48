"""Everything special about the kind ``secret``."""
