"""Everything special about the kind ``ingress``."""
