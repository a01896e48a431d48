"""Rules of several kinds of the group ``core``."""
