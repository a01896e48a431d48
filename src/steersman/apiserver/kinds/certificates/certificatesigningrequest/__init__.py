"""Everything special about the kind ``certificatesigningrequest``."""
