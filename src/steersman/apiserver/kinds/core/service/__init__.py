"""Everything special about the kind ``service``."""
