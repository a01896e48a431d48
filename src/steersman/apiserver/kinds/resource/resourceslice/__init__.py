"""Everything special about the kind ``resourceslice``."""
