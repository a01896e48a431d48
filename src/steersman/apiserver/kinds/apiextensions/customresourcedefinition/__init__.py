"""Everything special about the kind ``customresourcedefinition``."""
