"""Everything special about the kind ``poddisruptionbudget``."""
