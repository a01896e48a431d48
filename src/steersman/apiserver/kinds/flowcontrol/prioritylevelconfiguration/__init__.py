"""Everything special about the kind ``prioritylevelconfiguration``."""
