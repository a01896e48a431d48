"""Everything special about the kind ``volumeattachment``."""
