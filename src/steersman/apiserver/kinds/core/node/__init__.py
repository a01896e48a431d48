"""Everything special about the kind ``node``."""
