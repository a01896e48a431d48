"""Everything special about the kind ``replicaset``."""
