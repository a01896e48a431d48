"""Everything special about the kind ``flowschema``."""
