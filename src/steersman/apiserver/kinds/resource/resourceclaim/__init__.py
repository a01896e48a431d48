"""Everything special about the kind ``resourceclaim``."""
