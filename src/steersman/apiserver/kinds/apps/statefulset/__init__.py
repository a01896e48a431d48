"""Everything special about the kind ``statefulset``."""
