"""Everything special about the kind ``horizontalpodautoscaler``."""
