"""Rules shared by kinds of the core group."""
