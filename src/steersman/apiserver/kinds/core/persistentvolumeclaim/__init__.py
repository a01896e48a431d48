"""Everything special about the kind ``persistentvolumeclaim``."""
