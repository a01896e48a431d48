"""Everything special about the kind ``cronjob``."""
