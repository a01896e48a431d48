"""Everything special about the kind ``persistentvolume``."""
