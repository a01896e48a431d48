"""Everything special about the kind ``networkpolicy``."""
