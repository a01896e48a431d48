"""Everything special about the kind ``daemonset``."""
