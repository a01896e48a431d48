"""Rules shared by kinds of several API groups."""
