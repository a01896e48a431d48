"""Everything special about the kind ``storageclass``."""
